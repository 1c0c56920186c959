import { CalmText } from '../../ui/calm-text.tsx';
import { markedParts, type Place } from './met-words.ts';

/** A text of which the words at some places stand out. */
export function MarkedText({ text, places }: { readonly text: string; readonly places: readonly Place[] }) {
  return (
    <>
      {markedParts(text, places).map((part, index) =>
        part.isMet ? (
          <mark key={index}>
            <CalmText text={part.text} />
          </mark>
        ) : (
          <CalmText key={index} text={part.text} />
        ),
      )}
    </>
  );
}
