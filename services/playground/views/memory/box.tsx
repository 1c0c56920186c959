import type { InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';

interface BoxProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly onText: (name: string, text: string) => void;
  readonly fault?: string | undefined;
  readonly hint?: string;
  /** A text of several lines, JSON among them; else one line. */
  readonly rows?: number;
  /** The options of a choice, by their values. */
  readonly options?: Readonly<Record<string, string>>;
  /** Takes twice the room in a row of boxes. */
  readonly isWide?: boolean;
  readonly input?: InputHTMLAttributes;
}

/** A box of a form with its label, its hint, and what is wrong with it. */
export function Box({ label, name, value, onText, fault, hint, rows, options, input, isWide = false }: BoxProps) {
  const help = useId();
  const isHelped = fault !== undefined || hint !== undefined;
  const given = {
    ...{ name, value },
    'aria-invalid': fault !== undefined,
    'aria-describedby': isHelped ? help : undefined,
    onInput: (event: Event) => onText(name, (event.currentTarget as HTMLInputElement).value),
  };
  return (
    <div class={isWide ? 'box box-wide' : 'box'}>
      <label>
        {label}
        <Control given={given} rows={rows} options={options} input={input} />
      </label>
      {isHelped && (
        <span id={help} class="hint">
          {fault === undefined ? hint : <strong class="bad">{fault}</strong>}
        </span>
      )}
    </div>
  );
}

interface ControlProps {
  readonly given: { readonly value: string };
  readonly rows: number | undefined;
  readonly options: Readonly<Record<string, string>> | undefined;
  readonly input: InputHTMLAttributes | undefined;
}

function Control({ given, rows, options, input }: ControlProps) {
  if (options)
    return (
      <select {...given}>
        {Object.entries(options).map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    );
  if (rows !== undefined) return <textarea rows={rows} spellcheck={false} {...given} />;
  return <input {...input} {...given} />;
}
