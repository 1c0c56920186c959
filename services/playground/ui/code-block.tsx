import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CopyButton } from './copy-button.tsx';
import { highlight, type CodePart } from './highlighter.ts';

interface CodeBlockProps {
  /** What the author calls the language; empty without a name. */
  readonly language: string;
  readonly code: string;
  /** The same text as the page draws it while its kinds are not known. */
  readonly plain: ComponentChildren;
}

/** How long a text must stay as it is before its kinds are looked for, in milliseconds: while it streams it changes with each frame. */
const quietMs = 200;

/** More characters of a name are not shown. */
const maxLanguage = 30;

/** The kinds that have a colour, by how grammars name them; what has none looks as the text does. */
const tones: Readonly<Record<string, string>> = {
  ...{ keyword: 'word', built_in: 'word', type: 'word', literal: 'number', number: 'number', symbol: 'number' },
  ...{ string: 'text', regexp: 'text', addition: 'text', attr: 'word', attribute: 'word', name: 'word' },
  ...{ 'selector-tag': 'word', section: 'word', meta: 'note', comment: 'note', quote: 'note', deletion: 'number' },
};

/** A block of code with its language and a button that copies it. */
export function CodeBlock({ language, code, plain }: CodeBlockProps) {
  const [found, setFound] = useState<{ readonly code: string; readonly parts: readonly CodePart[] }>();
  useEffect(() => {
    let isLeft = false;
    const timer = setTimeout(() => {
      void highlight(language, code).then((parts) => {
        if (!isLeft && parts) setFound({ code, parts });
      });
    }, quietMs);
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [language, code]);
  return (
    <figure class="code-block">
      <figcaption>
        <span>{language.slice(0, maxLanguage)}</span>
        <CopyButton text={() => code} name="Copy the code" />
      </figcaption>
      <pre tabIndex={0} role="region" aria-label={language ? `Code, ${language}` : 'Code'}>
        <code>{found?.code === code ? <Parts parts={found.parts} /> : plain}</code>
      </pre>
    </figure>
  );
}

function Parts({ parts }: { readonly parts: readonly CodePart[] }) {
  return (
    <>
      {parts.map(([kind, text], index) => {
        const tone = tones[kind ?? ''];
        return tone === undefined ? (
          text
        ) : (
          <span key={index} class={`code-${tone}`}>
            {text}
          </span>
        );
      })}
    </>
  );
}
