{#- When loads were taken. -#}

{#-
    The time at which a load was taken, as text: what `snapshot_time` said of it, else the time in its sequence, where the format says how
    to find it. Empty where neither is known.

    times   what `snapshot_time` said: sequence -> text
-#}
{% macro time_of_load(spec, sequence, times) %}
    {% set time_in_sequence = change_tables.format_of(spec.format).time_in_sequence %}
    {% do return(times.get(sequence) or (time_in_sequence(sequence) if time_in_sequence else '')) %}
{% endmacro %}


{#- The same as SQL; null where it is not known. -#}
{% macro timestamp_of_load(spec, sequence, times) -%}
    {%- set time = change_tables.time_of_load(spec, sequence, times) -%}
    {{ "timestamp '" ~ time ~ "+00:00'" if time else 'cast(null as timestamp)' }}
{%- endmacro %}


{#- The time in a sequence of 35 digits, of which loads may have the first ones alone: `yyyyMMddHHmmSShh`. Empty where it has none. -#}
{% macro time_in_digits(sequence) %}
    {% do return('') if not modules.re.match('^[0-9]{8,}$', sequence) %}
    {% set digits = (sequence ~ '0' * 16)[:16] %}
    {% set day = digits[:4] ~ '-' ~ digits[4:6] ~ '-' ~ digits[6:8] %}
    {% set time = day ~ ' ' ~ digits[8:10] ~ ':' ~ digits[10:12] ~ ':' ~ digits[12:14] ~ '.' ~ digits[14:] %}
    {% do return(time if change_tables.is_time(time) else '') %}
{% endmacro %}
