import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useReducer, useRef } from 'preact/hooks';
import { maxRow } from '../apart.ts';
import { CalmText } from '../calm-text.tsx';
import { CodeBlock } from '../code-block.tsx';
import { RawOnFault } from '../patterns/raw-on-fault.tsx';
import type * as Reader from './growing-markdown.ts';
import type { GrowingMarkdown } from './growing-markdown.ts';
import type { MarkdownBlock, MarkdownElement, MarkdownNode } from './markdown-tree.ts';
import { Plain } from '../plain.tsx';
import { safeAddress } from '../safe-text.ts';

/** What reads Markdown is no part of the first view, which is there sooner without it. Texts are plain until it is there. */
const reader = signal<typeof Reader | undefined>(undefined);
let isAsked = false;

/** Has the reader of Markdown loaded, once: before the first text that it is for is there, where that can be foreseen. */
export function loadMarkdown(): void {
  if (isAsked) return;
  isAsked = true;
  import('./growing-markdown.ts').then(
    (loaded) => {
      reader.value = loaded;
    },
    () => undefined,
  );
}

interface MarkdownProps {
  readonly text: string;
  /** Whether more is to come: then only the end is read again. */
  readonly isGrowing: boolean;
}

/**
 * A text in Markdown, read slice by slice: the page answers between two. What is HTML in it is shown as text; nothing is loaded from
 * elsewhere.
 */
export function Markdown({ text, isGrowing }: MarkdownProps) {
  const held = useRef<GrowingMarkdown>();
  const [, readOn] = useReducer((count: number) => count + 1, 0);
  const { value: loaded } = reader;
  if (!loaded) loadMarkdown();
  if (loaded) held.current = loaded.growMarkdown(held.current ?? loaded.emptyMarkdown, text, isGrowing);
  useEffect(() => {
    if (held.current?.state !== 'reading') return undefined;
    const timer = setTimeout(() => readOn(undefined));
    return () => clearTimeout(timer);
  });
  const { settled, offset, tail } = held.current ?? { settled: [], offset: 0, tail: undefined };
  return (
    <div class="markdown">
      <RawOnFault raw={text}>
        {settled.map((blocks, index) => (
          <Blocks key={index} blocks={blocks} />
        ))}
        {tail ? <Blocks key="tail" blocks={tail} /> : <Plain key="plain" text={text.slice(offset)} />}
      </RawOnFault>
    </div>
  );
}

/** Drawn once for the same blocks. */
function Blocks({ blocks }: { readonly blocks: readonly MarkdownBlock[] }) {
  return useMemo(() => <>{blocks.map(({ children }) => drawn(children))}</>, [blocks]);
}

const drawn = (nodes: readonly MarkdownNode[]): ComponentChildren[] =>
  nodes.map((node, key) => (typeof node === 'string' ? drawnText(node, key) : toElement(node, key)));

const drawnText = (text: string, key: number): ComponentChildren =>
  text.length > maxRow ? <CalmText key={key} text={text} /> : text;

/** Elements that are drawn as they are. */
const known = new Set(['p', 'blockquote', 'ul', 'thead', 'tbody', 'tr', 'th', 'td', 'strong', 'em', 'code']);

function toElement(element: MarkdownElement, key: number): ComponentChildren {
  const { tag, children, start, language } = element;
  const content = drawn(children);
  if (known.has(tag)) {
    const Tag = tag as 'p';
    return <Tag key={key}>{content}</Tag>;
  }
  switch (tag) {
    case 'ol':
      return (
        <ol key={key} start={start}>
          {content}
        </ol>
      );
    case 'li':
      return <Item key={key} element={element} />;
    case 'pre':
      return <CodeBlock key={key} language={language ?? ''} code={textIn(children)} plain={content} />;
    case 'table':
      return (
        <div key={key} class="wide-table" tabIndex={0} role="region" aria-label="Table">
          <table>{content}</table>
        </div>
      );
    case 's':
      return <del key={key}>{content}</del>;
    case 'hr':
      return <hr key={key} />;
    case 'br':
      return <br key={key} />;
    case 'a':
    case 'img':
      return <Link key={key} element={element} content={content} />;
    default:
      // All headings of messages stand one below that of the page, whatever levels an agent leaves out; their looks differ.
      return (
        <h2 key={key} class={`depth-${tag.slice(1)}`}>
          {content}
        </h2>
      );
  }
}

/** The characters of a block of code: it has no elements. */
const textIn = (nodes: readonly MarkdownNode[]): string => nodes.filter((node) => typeof node === 'string').join('');

interface PartProps {
  readonly element: MarkdownElement;
}

const boxes: Readonly<Record<string, string>> = { '[ ] ': '☐ ', '[x] ': '☑ ', '[X] ': '☑ ' };

/** An item of a list; one that begins with a box in brackets is a task. */
function Item({ element: { children } }: PartProps) {
  const [first, ...rest] = children;
  const isLoose = typeof first === 'object' && first.tag === 'p';
  const text = isLoose ? first.children[0] : first;
  const box = typeof text === 'string' ? boxes[text.slice(0, 4)] : undefined;
  if (box === undefined || typeof text !== 'string') return <li>{drawn(children)}</li>;
  const begun = box + text.slice(4);
  const start = isLoose ? { ...first, children: [begun, ...first.children.slice(1)] } : begun;
  return <li class="task">{drawn([start, ...rest])}</li>;
}

/**
 * A link that leads nowhere else than to a web page or a mailbox; any other address is text. An image is such a link and is not
 * loaded: its address may be anywhere.
 */
function Link({
  element: { tag, href = '', children },
  content,
}: PartProps & { readonly content: readonly ComponentChildren[] }) {
  const address = safeAddress(href);
  const label = tag === 'img' ? ['Image: ', ...(children.every((child) => child === '') ? [href] : content)] : content;
  if (address === undefined) return <span>{label}</span>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer">
      {label}
    </a>
  );
}
