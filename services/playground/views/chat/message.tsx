import type { ReadonlySignal } from '@preact/signals';
import { Answered } from './answered.tsx';
import { Blocks } from './blocks.tsx';
import type { Entry } from './conversation.ts';

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
