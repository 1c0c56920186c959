import { counted, grouped } from './format.ts';
import { partsOf } from './text-parts.ts';
import { SaveAll } from './save-all.tsx';

/** A text of more characters is shown as far as this: laying out more holds the page up. */
const maxShown = 256 * 1024;

/** A long text as it stands. */
export function Plain({ text }: { readonly text: string }) {
  return (
    <div class="written">
      {text.length > maxShown && (
        <p class="hint">
          The text has {counted(text.length, 'character')}; these are the first {grouped(maxShown)}.{' '}
          <SaveAll name="text.txt" content={() => text} />
        </p>
      )}
      {partsOf(text.slice(0, maxShown)).map((part, index) => (
        <div key={index}>{part}</div>
      ))}
    </div>
  );
}
