import type { ComponentChildren } from 'preact';
import { CalmText } from './calm-text.tsx';
import { counted, grouped } from './format.ts';
import { partsOf } from './text-parts.ts';
import { SaveAll } from './save-all.tsx';

/** A text of more characters is shown as far as this: laying out more holds the page up. */
const maxShown = 256 * 1024;

/** A text of more parts is laid out where it is in sight: one of many lines would hold the page up. */
const maxLaidOut = 4;

interface PlainProps {
  readonly text: string;
  /** Draws a part of it; as it is unless given. */
  readonly draw?: (part: string) => ComponentChildren;
}

const drawCalm = (part: string) => <CalmText text={part} />;

/** A long text as it stands. */
export function Plain({ text, draw = drawCalm }: PlainProps) {
  const parts = partsOf(text.slice(0, maxShown));
  const isLong = parts.length > maxLaidOut;
  return (
    <div class="written">
      {text.length > maxShown && (
        <p class="hint">
          The text has {counted(text.length, 'character')}; these are the first {grouped(maxShown)}.{' '}
          <SaveAll name="text.txt" content={() => text} />
        </p>
      )}
      {parts.map((part, index) => (
        <div key={index} {...(isLong && { class: 'part', style: { containIntrinsicBlockSize: heightOf(part) } })}>
          {draw(part)}
        </div>
      ))}
    </div>
  );
}

/** About how high a part is, until it is laid out: in lines of a hundred characters, and those that it ends itself. */
const heightOf = (part: string): string => `auto ${String(1.5 * (part.split('\n').length + part.length / 100))}em`;
