import type { ReadonlySignal } from '@preact/signals';
import { textOf } from '@agent-workflow/client';
import { CopyButton } from '../../ui/copy-button.tsx';
import { dayMinute, exactTime } from '../../ui/time-text.ts';
import { Icon } from '../../ui/icon.tsx';
import { MemoryLink } from '../../ui/memory-link.tsx';
import { Answered } from './answered.tsx';
import type { CallCosts } from './call-costs.ts';
import type { Conversation, Entry } from './conversation.ts';
import { Blocks } from './message-blocks.tsx';

/** What the reader does with a message. */
export interface MessageActions {
  readonly fork: (entry: Entry) => void;
  readonly edit: (entry: Entry) => void;
  /** Opens the run that the message came with. */
  readonly openRun: (entry: Entry) => void;
  /** Goes on from an answer that was stopped. */
  readonly goOn: () => void;
  /** What calls of tools took. */
  readonly costs: CallCosts;
  /** Whether the thread is of another owner: a message is copied then, and no more. */
  readonly isOfOther: boolean;
  /** Why something cannot be done with a message, by its id. */
  readonly refusals: ReadonlySignal<ReadonlyMap<string, string>>;
}

/** Where a message stands among those that are shown. */
export interface MessagePlace {
  /** Whether the one before it is not of the same speaker. */
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

interface MessageProps extends MessagePlace {
  readonly entry: Entry;
  /** Draws the message anew; the entry itself stays the same object. */
  readonly revision: number;
  readonly conversation: Conversation;
  /** What the agent is called. */
  readonly agent: string | undefined;
  /** Who has sent a message of a user; absent: the reader. */
  readonly from: string | undefined;
  readonly actions: MessageActions;
}

const names: Readonly<Record<Entry['role'], string>> = {
  user: 'You',
  assistant: 'Agent',
  system: 'System',
  tool: 'Tool',
};

const timeOf = (timestamp: string): string => dayMinute(Date.parse(timestamp), Date.now()) || timestamp;

/** A message of the thread with what can be done with it. */
export function Message({ entry, conversation, agent, from, actions, isFirst, isLast }: MessageProps) {
  const { role, state, timestamp, isPartial, answered } = entry;
  const refusal = actions.refusals.value.get(entry.id);
  const name = role === 'assistant' ? (agent ?? names.assistant) : names[role];
  return (
    <>
      <article
        class={`message message-${role}${isLast ? ' is-last' : ''}`}
        aria-label={`${from ?? names[role]}, ${timeOf(timestamp)}`}
      >
        {role !== 'user' && isFirst && (
          <div class="message-head">
            <span class="face" aria-hidden="true">
              {name.charAt(0)}
            </span>
            <strong dir="auto">{name}</strong>
            <When timestamp={timestamp} />
          </div>
        )}
        {from !== undefined && isFirst && (
          <p class="message-from" dir="auto">
            {from}
          </p>
        )}
        <div class="message-body" dir="auto" data-growing={state === 'streaming' ? '' : undefined}>
          <Blocks {...{ entry, conversation }} costs={actions.costs} />
        </div>
        {state === 'dropped' && <p class="hint">The run ended before this message did: the thread has not kept it.</p>}
        {isPartial && <Stopped isLast={isLast && !actions.isOfOther} goOn={actions.goOn} />}
        {refusal !== undefined && (
          <p class="hint" role="status">
            {refusal}
          </p>
        )}
        {state === 'whole' && <Actions {...{ entry, actions }} isRefused={refusal !== undefined} />}
      </article>
      {answered?.map((each) => (
        <Answered key={each.interrupt.id} {...each} />
      ))}
    </>
  );
}

const When = ({ timestamp }: { readonly timestamp: string }) => (
  <time dateTime={timestamp} title={exactTime(Date.parse(timestamp))}>
    {timeOf(timestamp)}
  </time>
);

/** Says that an answer was stopped, and goes on from it where nothing came after. */
function Stopped({ isLast, goOn }: { readonly isLast: boolean; readonly goOn: () => void }) {
  return (
    <p class="stopped">
      <Icon name="stop" />
      <span>Stopped. What was said until then stays.</span>
      {isLast && (
        <button type="button" class="button-quiet" title="Sends “Go on.”" onClick={goOn}>
          Go on
        </button>
      )}
    </p>
  );
}

interface ActionsProps {
  readonly entry: Entry;
  readonly actions: MessageActions;
  readonly isRefused: boolean;
}

/** What can be done with a message: shown where the pointer or the keyboard is, and at the last one. */
function Actions({ entry, actions, isRefused }: ActionsProps) {
  const { role, blocks, timestamp } = entry;
  return (
    <div class="message-after">
      <CopyButton isSign name="Copy the message" text={() => textOf({ content: blocks }) || JSON.stringify(blocks)} />
      {!actions.isOfOther && <OwnActions {...{ entry, actions, isRefused }} />}
      {role === 'assistant' && !actions.isOfOther && <MemoryLink isSign text={textOf({ content: blocks })} />}
      {role === 'user' && <When timestamp={timestamp} />}
    </div>
  );
}

/** What the owner of a thread does with a message. */
function OwnActions({ entry, actions, isRefused }: ActionsProps) {
  const sign = { type: 'button', class: 'button-quiet button-sign tiny' } as const;
  return (
    <>
      <button
        {...sign}
        aria-label="Fork from here"
        title="Fork from here"
        disabled={isRefused}
        onClick={() => actions.fork(entry)}
      >
        <Icon name="fork" />
      </button>
      {entry.role === 'user' && (
        <button
          {...sign}
          aria-label="Edit and fork"
          title="Edit and fork"
          disabled={isRefused}
          onClick={() => actions.edit(entry)}
        >
          <Icon name="edit" />
        </button>
      )}
      <button {...sign} aria-label="Open the run" title="Open the run" onClick={() => actions.openRun(entry)}>
        <Icon name="runs" />
      </button>
    </>
  );
}
