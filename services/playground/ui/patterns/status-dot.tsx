/** The mark of each status: done is a ring, failed is full, waiting a diamond, running has a halo, idle is a small ring. */
const marks: Readonly<Record<string, string>> = {
  completed: 'done',
  done: 'done',
  delivered: 'done',
  active: 'done',
  failed: 'failed',
  dead: 'failed',
  interrupted: 'waiting',
  waiting: 'waiting',
  retrying: 'waiting',
  running: 'running',
  queued: 'idle',
  pending: 'idle',
  sleeping: 'idle',
  stopped: 'idle',
  paused: 'idle',
};

const words: Readonly<Record<string, string>> = { interrupted: 'waiting for an answer' };

/** The tone of a status: `done`, `failed`, `waiting`, `running` or `idle`. One that the page does not know is idle. */
export const toneOf = (status: string): string => marks[status] ?? 'idle';

interface StatusDotProps {
  /** A status as the service names it. */
  readonly status: string;
  /** Whether the word is shown beside the mark; a screen reader has it always. */
  readonly hasWord?: boolean;
  /** Another word than the status. */
  readonly word?: string;
}

/** Where something stands, by a shape and a word, never by a colour alone. */
export function StatusDot({ status, hasWord = false, word = words[status] ?? status }: StatusDotProps) {
  const tone = toneOf(status);
  return (
    <span class={`status-dot tone-${tone}`}>
      <span class={`dot dot-${tone}`} />
      <span class={hasWord ? undefined : 'unseen'}>{word}</span>
    </span>
  );
}
