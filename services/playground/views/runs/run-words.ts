import type { Run, RunError } from '@agent-workflow/client';
import { causeOf, type Thrown } from './trace/cause.ts';

/** What a run is called: the title of its thread, else that it has none. */
export const titleOfRun = ({ thread_title: title }: Run): string => title ?? 'Untitled';

/** How long a run took, or has taken by `now`, both in milliseconds; `undefined` where its times cannot be read. */
export function tookMs(
  { started_at: started, created_at: created, ended_at: ended, updated_at: updated, status }: Run,
  now: number,
): number | undefined {
  const isOpen = status === 'queued' || status === 'running' || status === 'sleeping';
  const end = isOpen ? now : Date.parse(ended ?? updated ?? '');
  const ms = end - Date.parse(started ?? created ?? '');
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** Whether a run has asked, and its thread waits for the answer no longer: it was given, or the thread went on without it. */
export const isAnswered = ({ status, nodes = [], question }: Run): boolean =>
  status === 'interrupted' && nodes.length === 0 && question === undefined;

/** Why a run stands where it stands: the cause of its failure, what it asks, where it is. Nothing of one that went as it should. @param thrown in a run that failed, where it is known */
export function whyOf(run: Run, thrown?: Thrown): string | undefined {
  const { status, error, question, nodes = [] } = run;
  const place = nodes.join(', ');
  switch (status) {
    case 'failed':
      return error && failureOf(error, thrown);
    case 'interrupted':
      if (question !== undefined) return `asks: ${question}`;
      return place === '' ? 'waits no longer' : `waits at ${place}`;
    case 'running':
      return place === '' ? 'at the start' : `at ${place}`;
    case 'queued':
      return 'waits for its turn';
    case 'sleeping':
      return place === '' ? 'sleeps' : `sleeps at ${place}`;
    case 'stopped':
      return 'stopped';
    case 'completed':
    case 'scheduled':
      return undefined;
  }
}

/** The node, and why it failed. */
function failureOf(error: RunError, thrown: Thrown | undefined): string {
  const cause = oneLine(causeOf(error, thrown));
  return error.node === undefined ? cause : `${error.node}: ${cause}`;
}

/** Of an error only so much stands in a row, in characters. */
const shownOfError = 200;

const oneLine = (text: string): string => text.slice(0, shownOfError).replaceAll(/\s+/g, ' ').trim();

/** The tokens of a run in both directions; `undefined` where it took none. */
export const tokensOf = ({ usage }: Run): number | undefined =>
  usage && usage.input_tokens + usage.output_tokens > 0 ? usage.input_tokens + usage.output_tokens : undefined;
