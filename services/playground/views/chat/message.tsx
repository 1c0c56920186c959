import type { ReadonlySignal } from '@preact/signals';
import type { Entry, AnsweredQuestion } from './conversation.ts';
import { digest } from '../../ui/json-start.ts';
import { JsonView } from '../../ui/json-view.tsx';
import { Plain } from '../../ui/plain.tsx';
import { questionOf } from './question.ts';
import type { Block } from '@agent-workflow/client';
import { useEffect, useState } from 'preact/hooks';
import { client, describe, token } from '../../session/session.ts';
import { Markdown } from '../../ui/markdown.tsx';
import { safeAddress } from '../../ui/safe-text.ts';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { labelOf, mediaOf, type MediaSource } from './media.ts';

/** What the reader does with a message. */
export interface MessageActions {
  readonly fork: (entry: Entry) => void;
  readonly edit: (entry: Entry) => void;
  /** Why a message cannot be forked from, by its id. */
  readonly refusals: ReadonlySignal<ReadonlyMap<string, string>>;
  readonly toolOf: (callId: string) => string | undefined;
}

interface MessageProps {
  readonly entry: Entry;
  /** Draws the message anew; the entry itself stays the same object. */
  readonly revision: number;
  readonly actions: MessageActions;
}

const names: Readonly<Record<Entry['role'], string>> = {
  user: 'You',
  assistant: 'Agent',
  system: 'System',
  tool: 'Tool',
};

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const calendar = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'short' });

const timeOf = (timestamp: string): string => {
  const time = Date.parse(timestamp);
  if (Number.isNaN(time)) return timestamp;
  return (new Date(time).toDateString() === new Date().toDateString() ? clock : calendar).format(time);
};

/** A message of the thread with what can be done with it. */
export function Message({ entry, actions }: MessageProps) {
  const { role, state, timestamp } = entry;
  const refusal = actions.refusals.value.get(entry.id);
  return (
    <>
      <article class={`message message-${role}`} aria-label={`${names[role]}, ${timeOf(timestamp)}`}>
        <div class="message-head">
          <strong>{names[role]}</strong>
          <time dateTime={timestamp}>{timeOf(timestamp)}</time>
          {state === 'streaming' && <span class="hint">writing …</span>}
          {state === 'whole' && <ForkButtons {...{ entry, actions }} isRefused={refusal !== undefined} />}
        </div>
        <div class="message-body">
          <Blocks entry={entry} toolOf={actions.toolOf} />
        </div>
        {state === 'dropped' && <p class="hint">The run ended before this message did: the thread has not kept it.</p>}
        {refusal !== undefined && <p class="hint">{refusal}</p>}
      </article>
      {entry.answered?.map((each) => (
        <Answered key={each.interrupt.id} {...each} />
      ))}
    </>
  );
}

interface ForkButtonsProps {
  readonly entry: Entry;
  readonly actions: MessageActions;
  readonly isRefused: boolean;
}

function ForkButtons({ entry, actions, isRefused }: ForkButtonsProps) {
  return (
    <span class="message-actions">
      <button type="button" class="quiet" disabled={isRefused} onClick={() => actions.fork(entry)}>
        Fork from here
      </button>
      {entry.role === 'user' && (
        <button type="button" class="quiet" disabled={isRefused} onClick={() => actions.edit(entry)}>
          Edit and fork
        </button>
      )}
    </span>
  );
}

/** A question that was answered and its answer, in a line that opens to all of both. */
function Answered({ interrupt, answer }: AnsweredQuestion) {
  const { node, text = `The node ${node} asked`, value } = questionOf(interrupt);
  return (
    <details class="folded answered">
      <summary>
        Answered: {digest(text)} <span class="digest">{digest(answer)}</span>
      </summary>
      <Plain text={text} />
      {value !== undefined && <JsonView label={`What else ${node} asked with`} value={value} />}
      {typeof answer === 'string' ? (
        <Plain text={answer} />
      ) : (
        <JsonView label={`The answer to ${node}`} value={answer} />
      )}
    </details>
  );
}

interface BlocksProps {
  readonly entry: Entry;
  /** The name of the tool of a call. */
  readonly toolOf: (callId: string) => string | undefined;
}

/** The content of a message, each block in its form. */
function Blocks({ entry: { blocks, role, state }, toolOf }: BlocksProps) {
  const isGrowing = state === 'streaming';
  return (
    <>
      {blocks.map((block, index) => (
        <RawOnFault key={index} raw={block}>
          <OneBlock {...{ block, role, toolOf }} isGrowing={isGrowing && index === blocks.length - 1} />
        </RawOnFault>
      ))}
    </>
  );
}

interface OneBlockProps {
  readonly block: Block;
  readonly role: Entry['role'];
  readonly isGrowing: boolean;
  readonly toolOf: (callId: string) => string | undefined;
}

const textOf = (block: Block, name: string): string => (typeof block[name] === 'string' ? block[name] : '');

function OneBlock({ block, role, isGrowing, toolOf }: OneBlockProps) {
  switch (block.type) {
    case 'text':
      if (role === 'assistant') return <Markdown text={textOf(block, 'text')} isGrowing={isGrowing} />;
      return <Plain text={textOf(block, 'text')} />;
    case 'reasoning':
      return <Reasoning block={block} />;
    case 'tool_call':
      return <Folded kind="Tool call" name={textOf(block, 'name')} value={block['args']} />;
    case 'remote_tool_call':
      return <Folded kind="Call of a tool of the caller" name={textOf(block, 'name')} value={block['args']} />;
    case 'tool_result':
      return <ToolResult block={block} name={toolOf(textOf(block, 'call_id'))} />;
    case 'error':
      return (
        <div class="note note-error">
          <Plain text={textOf(block, 'message')} />
        </div>
      );
    case 'image':
    case 'audio':
    case 'video':
    case 'document':
      return <Media block={block} />;
    default:
      if (mediaOf(block, location.origin)) return <Media block={block} />;
      return <Folded kind={block.type} name="" value={block} />;
  }
}

function Reasoning({ block }: { readonly block: Block }) {
  const text = textOf(block, 'text') || textOf(block, 'summary');
  // A provider that seals its reasoning gives no text of it.
  if (text === '' && block['details'] === undefined) return null;
  return (
    <details class="folded">
      <summary>Reasoning</summary>
      {text !== '' && <Plain text={text} />}
      {block['details'] !== undefined && <JsonView label="Details of the reasoning" value={block['details']} />}
    </details>
  );
}

interface FoldedProps {
  readonly kind: string;
  readonly name: string;
  readonly value: unknown;
  readonly isBad?: boolean;
}

function Folded({ kind, name, value, isBad = false }: FoldedProps) {
  return (
    <details class={isBad ? 'folded folded-bad' : 'folded'}>
      <summary>
        {digest(kind)} {name !== '' && <code>{digest(name)}</code>} <span class="digest">{digest(value)}</span>
      </summary>
      <JsonView label={`${digest(kind)} ${digest(name)}`.trim()} value={value} />
    </details>
  );
}

function ToolResult({ block, name }: { readonly block: Block; readonly name: string | undefined }) {
  const isBad = block['is_error'] === true;
  return (
    <Folded kind={isBad ? 'Failed tool' : 'Result of'} name={name ?? 'a tool'} value={block['output']} isBad={isBad} />
  );
}

/** Names of files are no longer. */
const maxLabel = 255;

function Media({ block }: { readonly block: Block }) {
  const source = mediaOf(block, location.origin);
  const label = labelOf(block)?.slice(0, maxLabel);
  if (!source) return <Folded kind={block.type} name="" value={block} />;
  if (source.kind === 'file') return <FileMedia {...{ type: block.type, fileId: source.fileId, label }} />;
  return <Shown {...{ type: block.type, source }} label={label ?? nameOf(block.type)} />;
}

const nameOf = (type: string): string => type.charAt(0).toUpperCase() + type.slice(1);

interface ShownProps {
  readonly type: string;
  readonly source: Exclude<MediaSource, { readonly kind: 'file' }>;
  readonly label: string;
}

function Shown({ type, source: { kind, address }, label }: ShownProps) {
  if (kind === 'loaded' && type === 'image') return <img class="media" src={address} alt={label} />;
  if (kind === 'loaded' && type === 'audio') return <audio controls src={address} aria-label={label} />;
  if (kind === 'loaded' && type === 'video') return <video class="media" controls src={address} aria-label={label} />;
  const href = kind === 'linked' ? safeAddress(address) : address;
  return (
    <p>
      <a href={href} target="_blank" rel="noopener noreferrer" {...(kind === 'loaded' && { download: label })}>
        {label}
        {kind === 'linked' && ` at ${new URL(address).host}`}
      </a>
    </p>
  );
}

/** A file of the service, read with the token of this tab and kept while it is shown. Its record names it when its block does not. */
function FileMedia({
  type,
  fileId,
  label: given,
}: {
  readonly type: string;
  readonly fileId: string;
  readonly label: string | undefined;
}) {
  const [address, setAddress] = useState<string>();
  const [filename, setFilename] = useState<string>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const controller = new AbortController();
    let made: string | undefined;
    const { signal } = controller;
    // A file whose record cannot be read is shown without its name.
    const name = given === undefined ? client.files.info(fileId, { signal }).catch(() => undefined) : undefined;
    Promise.all([client.files.get(fileId, { signal }), name]).then(
      ([blob, info]) => {
        if (controller.signal.aborted) return;
        setFilename(info?.filename);
        setAddress((made = URL.createObjectURL(blob)));
      },
      (thrown: unknown) => {
        if (!controller.signal.aborted) setError(thrown);
      },
    );
    return () => {
      controller.abort();
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [fileId, given, token.value]);
  const label = given ?? filename ?? nameOf(type);
  if (error !== undefined)
    return (
      <p class="note note-error">
        {label}: {describe(error)}
      </p>
    );
  if (address === undefined) return <p class="hint">Reading {label} …</p>;
  return <Shown {...{ type, label }} source={{ kind: 'loaded', address }} />;
}
