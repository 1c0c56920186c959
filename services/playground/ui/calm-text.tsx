import { useMemo } from 'preact/hooks';
import { sectionsOf } from './apart.ts';

/** A text whose unbroken rows of marks and joined letters are laid out in sections: they would hold the page up. */
export function CalmText({ text }: { readonly text: string }) {
  const sections = useMemo(() => sectionsOf(text), [text]);
  return (
    <>
      {sections.map((section, index) =>
        section.isApart ? (
          <span key={index} class="apart">
            {section.text}
          </span>
        ) : (
          section.text
        ),
      )}
    </>
  );
}
