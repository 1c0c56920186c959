import { useId } from 'preact/hooks';
import { chosenOf, type FormFaults, type FormField, type FormModel, type FormTexts } from './schema-form.ts';

interface SchemaFieldsProps {
  readonly form: FormModel;
  readonly texts: FormTexts;
  readonly errors?: FormFaults | undefined;
  readonly onChange: (texts: FormTexts) => void;
}

/** The fields of a form, each with its label, what it holds, and what is wrong with it. */
export function SchemaFields({ form, texts, errors = {}, onChange }: SchemaFieldsProps) {
  return (
    <div class="stack">
      {form.fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          text={texts[field.name] ?? ''}
          error={errors[field.name]}
          onText={(text) => onChange({ ...texts, [field.name]: text })}
        />
      ))}
    </div>
  );
}

interface FieldProps {
  readonly field: FormField;
  readonly text: string;
  readonly error: string | undefined;
  readonly onText: (text: string) => void;
}

function Field({ field, text, error, onText }: FieldProps) {
  const id = useId();
  const { kind, label, description, isRequired, fallback } = field;
  const hint = [description, fallback !== undefined && fallback !== '' && `default ${shownAs(kind, fallback)}`]
    .filter(Boolean)
    .join('; ');
  const name = `${label}${isRequired ? ' (required)' : ''}`;
  const given = { id, field, text, onText, isWrong: error !== undefined };
  return (
    <div class="field">
      {kind === 'choices' ? (
        <Choices {...given} name={name} />
      ) : (
        <>
          <label for={id}>{name}</label>
          <Input {...given} />
        </>
      )}
      {hint !== '' && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p class="wrong" role="alert" id={`${id}-error`}>
          {label} {error}
        </p>
      )}
    </div>
  );
}

interface InputProps {
  readonly id: string;
  readonly field: FormField;
  readonly text: string;
  readonly isWrong: boolean;
  readonly onText: (text: string) => void;
}

function Input({ id, field: { kind, choices = ['true', 'false'] }, text, isWrong, onText }: InputProps) {
  const shared = { id, 'aria-invalid': isWrong, ...(isWrong && { 'aria-describedby': `${id}-error` }) };
  if (kind === 'boolean' || kind === 'choice')
    return (
      <select {...shared} value={text} onChange={(event) => onText(event.currentTarget.value)}>
        <option value="">Not set</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {labelOf(choice)}
          </option>
        ))}
      </select>
    );
  if (kind === 'json')
    return (
      <textarea
        {...shared}
        class="code"
        rows={3}
        spellcheck={false}
        placeholder="JSON"
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    );
  return (
    <input
      {...shared}
      inputMode={kind === 'text' ? 'text' : 'decimal'}
      autocomplete="off"
      value={text}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

/** A box to tick for each value that a list may hold. */
function Choices({ id, name, field: { choices = [] }, text, isWrong, onText }: InputProps & { readonly name: string }) {
  const chosen = chosenOf(text);
  const choose = (choice: string, isOn: boolean): void => {
    const now = choices.filter((each) => (each === choice ? isOn : chosen.includes(each)));
    onText(now.length === 0 ? '' : `[${now.join(',')}]`);
  };
  return (
    <fieldset class="choices">
      <legend>{name}</legend>
      {choices.map((choice) => (
        <label key={choice} class="check">
          <input
            type="checkbox"
            aria-invalid={isWrong}
            {...(isWrong && { 'aria-describedby': `${id}-error` })}
            checked={chosen.includes(choice)}
            onChange={(event) => choose(choice, event.currentTarget.checked)}
          />
          {labelOf(choice)}
        </label>
      ))}
    </fieldset>
  );
}

const shownAs = (kind: FormField['kind'], text: string): string => (kind === 'choice' ? labelOf(text) : text);

/** A choice that is a text is shown without its quotes. */
function labelOf(choice: string): string {
  const value: unknown = JSON.parse(choice);
  return typeof value === 'string' ? value : choice;
}
