import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';

/** Notes something about the messages of a run, by their subject. */
type Note = (subject: string) => void;

/** Notes a message of the events' stream that cannot be read, by its subject. */
export type NoteUnreadable = Note;

/** Agents whose last line in the log is remembered. */
const remembered = 100;
/** After so long a message of the same agent is logged again. */
const silentMs = 10 * 60_000;

/**
 * Logs that messages of the stream cannot be read, once in ten minutes for each agent: its workers may write any number of them. They are
 * passed over, so that followers get what is readable.
 */
export const createNoteUnreadable = (log: Log): NoteUnreadable =>
  createNote(log, 'a message among the events of a run cannot be read, and is passed over');

/** Logs as often that events are passed over too, because they are behind more such messages than are searched. */
export const createNotePassedOver = (log: Log): Note =>
  createNote(
    log,
    'so many messages among the events of a run cannot be read that a reader is given the last event without those before it',
  );

/** Logs as often that events are dropped because other messages are stored before them, however often they are tried. */
export const createNoteConflicts = (log: Log): Note =>
  createNote(
    log,
    'events of a run were dropped, because something else writes to its log all the time; its end is published from the record',
  );

function createNote(log: Log, text: string): Note {
  const isFirst = createFirstOfKind({ silentMs, max: remembered });
  return (subject) => {
    const [agentHash = '', runId = ''] = subject.split('.').slice(-2);
    if (isFirst(agentHash)) log.warn({ runId, agentHash }, text);
  };
}
