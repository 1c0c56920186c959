import { useMemo } from 'preact/hooks';
import { CalmText } from './calm-text.tsx';
import { grouped } from './format.ts';
import { jsonStart } from './json-start.ts';
import { SaveAll } from './save-all.tsx';

/** More characters of a value are not shown: they would hold the page up. */
const maxShown = 200_000;

/** A value as indented JSON, which the keyboard can scroll. */
export function JsonView({ label, value }: { readonly label: string; readonly value: unknown }) {
  const { text, isCut } = useMemo(() => jsonStart(value, maxShown, 2), [value]);
  return (
    <>
      {isCut && (
        <p class="hint">
          These are the first {grouped(maxShown)} characters.{' '}
          <SaveAll name="value.json" content={() => JSON.stringify(value, undefined, 1)} />
        </p>
      )}
      <pre class="json" tabIndex={0} role="region" aria-label={label}>
        <CalmText text={text} />
      </pre>
    </>
  );
}
