import type { Run, RunError } from '@agent-workflow/client';
import { useEffect, useState } from 'preact/hooks';
import { client, token } from '../../../session/session.ts';
import type { Thrown } from './cause.ts';
import { firstChosen, thrownOf, toTree } from './span-tree.ts';

type FailedRun = Pick<Run, 'run_id'> & { readonly error?: RunError | undefined };

/** What was thrown in runs that have failed, which does not change: `undefined` of one that has none on record. */
const known = new Map<string, Thrown | undefined>();
const maxKnown = 1000;

/** Whether the service shows what was thrown, by the token of the request: who may not see it makes one. */
const shows = new Map<string, Promise<boolean>>();

/** Whether the service's sentence says less than what was thrown: an author's own words are public. */
const isHidden = ({ error }: FailedRun): boolean => error?.reason !== undefined && error.reason !== 'user_error';

/** What was thrown in a run that has failed, once it is known, where the caller may see it. */
export function useThrown(run: FailedRun): Thrown | undefined {
  const key = isHidden(run) ? `${token.value} ${run.run_id}` : '';
  const [read, setRead] = useState<{ readonly key: string; readonly thrown: Thrown | undefined }>();
  useEffect(() => {
    if (key === '' || known.has(key)) return undefined;
    let isHere = true;
    readThrown(key, run.run_id).then(
      (thrown) => {
        if (isHere) setRead({ key, thrown });
      },
      // The sentence of the service stands, as it does for those who may not see more.
      () => undefined,
    );
    return () => {
      isHere = false;
    };
  }, [key]);
  return known.get(key) ?? (read?.key === key ? read.thrown : undefined);
}

async function readThrown(key: string, runId: string): Promise<Thrown | undefined> {
  const reader = token.peek();
  const before = shows.get(reader);
  if (before && !(await before)) return undefined;
  const reading = failedStepOf(runId);
  if (!before)
    shows.set(
      reader,
      reading.then(
        ({ showsContent }) => showsContent,
        () => !shows.delete(reader),
      ),
    );
  const { thrown, showsContent } = await reading;
  if (!showsContent) return undefined;
  if (known.size >= maxKnown) known.clear();
  known.set(key, thrown);
  return thrown;
}

/** Reads the step in which a run failed. It is the last, or the one after it: a first step that failed counts as made. */
async function failedStepOf(runId: string) {
  const { iterations } = await client.runs.get(runId);
  const steps = typeof iterations === 'number' ? iterations : 0;
  const { spans, shows_content: showsContent } = await client.runs.trace(runId, {
    limit: 2,
    ...(steps > 1 && { after: steps - 2 }),
  });
  const failed = firstChosen(toTree(spans), true, 0);
  return { showsContent, thrown: failed && thrownOf(failed) };
}
