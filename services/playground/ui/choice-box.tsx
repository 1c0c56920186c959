interface ChoiceBoxProps {
  /** What is chosen: `Status`. */
  readonly label: string;
  /** What the choice of nothing says: `Any status`. */
  readonly any: string;
  readonly choices: readonly { readonly word: string; readonly text: string }[];
  /** The word that is chosen; empty for none. One that is not among the choices stands in the box and cannot be chosen. */
  readonly value: string;
  readonly onChoose: (word: string) => void;
}

/** A filter of a list that is one of few words. */
export function ChoiceBox({ label, any, choices, value, onChoose }: ChoiceBoxProps) {
  const isKnown = value === '' || choices.some(({ word }) => word === value);
  return (
    <select
      class={value === '' ? 'choice' : 'choice choice-made'}
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChoose(currentTarget.value)}
    >
      {!isKnown && (
        <option value={value} disabled>
          {value} (unknown)
        </option>
      )}
      <option value="">{any}</option>
      {choices.map(({ word, text }) => (
        <option key={word} value={word}>
          {text}
        </option>
      ))}
    </select>
  );
}
