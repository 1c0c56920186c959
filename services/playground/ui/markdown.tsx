import type { Token, Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { emptyMarkdown, growMarkdown, partsOf } from './growing-markdown.ts';
import { safeAddress, withoutEntities } from './safe-text.ts';

interface MarkdownProps {
  readonly text: string;
  /** Whether more is to come: then only the end is parsed again. */
  readonly isGrowing: boolean;
}

/** A text in Markdown. What is HTML in it is shown as text; nothing is loaded from elsewhere. */
export function Markdown({ text, isGrowing }: MarkdownProps) {
  const held = useRef(emptyMarkdown);
  const { settled, offset, tail } = (held.current = growMarkdown(held.current, text, isGrowing));
  return (
    <div class="markdown">
      {settled.map((tokens, index) => (
        <Blocks key={index} tokens={tokens} />
      ))}
      {tail ? <Blocks key="tail" tokens={tail} /> : <Plain key="plain" text={text.slice(offset)} />}
    </div>
  );
}

/** A long text as it stands. */
export function Plain({ text }: { readonly text: string }) {
  return (
    <div class="written">
      {partsOf(text).map((part, index) => (
        <div key={index}>{part}</div>
      ))}
    </div>
  );
}

/** Drawn once for the same tokens. */
function Blocks({ tokens }: { readonly tokens: readonly Token[] }) {
  return useMemo(() => <>{nodesOf(tokens)}</>, [tokens]);
}

const nodesOf = (tokens: readonly Token[] = []): ComponentChildren[] =>
  tokens.map((token, index) => toNode(token, index));

/** The element of a token. A kind that is not known here is shown as it was written. */
function toNode(token: Token, key: number): ComponentChildren {
  const known = token as Tokens.Generic & { readonly tokens?: Token[] };
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading':
      return heading(known as Tokens.Heading, key);
    case 'paragraph':
      return <p key={key}>{nodesOf(known.tokens)}</p>;
    case 'blockquote':
      return <blockquote key={key}>{nodesOf(known.tokens)}</blockquote>;
    case 'code':
      return <CodeBlock key={key} {...(known as Tokens.Code)} />;
    case 'list':
      return list(known as Tokens.List, key);
    case 'table':
      return table(known as Tokens.Table, key);
    case 'hr':
      return <hr key={key} />;
    case 'strong':
      return <strong key={key}>{nodesOf(known.tokens)}</strong>;
    case 'em':
      return <em key={key}>{nodesOf(known.tokens)}</em>;
    case 'del':
      return <del key={key}>{nodesOf(known.tokens)}</del>;
    case 'codespan':
      return <code key={key}>{String(known['text'])}</code>;
    case 'br':
      return <br key={key} />;
    case 'link':
      return link(known as Tokens.Link, key);
    case 'image':
      return image(known as Tokens.Image, key);
    case 'text':
      return known.tokens ? <span key={key}>{nodesOf(known.tokens)}</span> : withoutEntities(String(known['text']));
    case 'escape':
      return String(known['text']);
    default:
      return token.raw;
  }
}

/** All headings of messages stand one below that of the page, whatever levels an agent leaves out; their looks differ. */
const heading = ({ depth, tokens }: Tokens.Heading, key: number) => (
  <h2 key={key} class={`depth-${String(depth)}`}>
    {nodesOf(tokens)}
  </h2>
);

function CodeBlock({ text, lang }: Pick<Tokens.Code, 'text' | 'lang'>) {
  return (
    <pre tabIndex={0} role="region" aria-label={lang ? `Code, ${lang}` : 'Code'}>
      <code>{text}</code>
    </pre>
  );
}

function list({ ordered, start, items }: Tokens.List, key: number) {
  const content = items.map(({ tokens, task, checked }, index) => (
    <li key={index} class={task ? 'task' : undefined}>
      {task ? `${checked ? '☑' : '☐'} ` : null}
      {nodesOf(tokens.filter(({ type }) => type !== 'checkbox'))}
    </li>
  ));
  return ordered ? (
    <ol key={key} start={start === '' ? 1 : start}>
      {content}
    </ol>
  ) : (
    <ul key={key}>{content}</ul>
  );
}

function table({ header, rows }: Tokens.Table, key: number) {
  return (
    <div key={key} class="wide-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, index) => (
              <th key={index}>{nodesOf(tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map(({ tokens }, index) => (
                <td key={index}>{nodesOf(tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** An image is not loaded: its address may be anywhere. */
const image = ({ href, text }: Tokens.Image, key: number) =>
  link({ href, tokens: [] }, key, `Image: ${text === '' ? href : text}`);

/** A link that leads nowhere else than to a web page or a mailbox; any other address is text. */
function link({ href, tokens }: Pick<Tokens.Link, 'href' | 'tokens'>, key: number, label?: string) {
  const address = safeAddress(href);
  const content = label ?? nodesOf(tokens);
  if (address === undefined) return <span key={key}>{content}</span>;
  return (
    <a key={key} href={address} target="_blank" rel="noopener noreferrer">
      {content}
    </a>
  );
}
