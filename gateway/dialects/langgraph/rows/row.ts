import { isServiceError } from '@agent-workflow/kit/errors';
import type { TSchema } from 'typebox';
import { endpoint, type Given, type ServiceEndpoint } from '../../common/services.ts';
import { isUuid, noUuid } from '../ids/uuid.ts';
import { hasWholeText, refusalWith } from '../replies/refusal.ts';

/** What a reply says of an object that is absent. */
interface Absent {
  readonly absent?: (id: string) => string;
}

/** What the reply says of an id in a path that is none, by the name of its parameter. */
const kinds = { thread_id: 'thread', assistant_id: 'assistant', run_id: 'run', schedule_id: 'cron' } as const;

/**
 * A row of this dialect. What is absent is answered in its words: under an id that is no UUID nothing can be found, unless another dialect
 * has made it.
 */
export const row = <P extends TSchema = TSchema, I extends TSchema = TSchema>({
  absent,
  ...given
}: Given<P, I> & Absent): ServiceEndpoint => {
  const made = endpoint<P, I>(given);
  return {
    ...made,
    handle: async (request, services) => {
      try {
        return await made.handle(request, services);
      } catch (error) {
        if (!isServiceError(error, 'NotFound') || hasWholeText(error)) throw error;
        throw wordsFor(request.params as Params | undefined, absent) ?? error;
      }
    },
  };
};

type Params = Readonly<Record<string, string>>;

function wordsFor(params: Params | undefined, absent: Absent['absent']) {
  const named = Object.entries(kinds).flatMap(([name, kind]) => {
    const id = params?.[name];
    return id === undefined ? [] : [{ id, kind }];
  });
  const wrong = named.find(({ id }) => !isUuid(id));
  if (wrong) return refusalWith('Invalid', noUuid(wrong.kind));
  const [first] = named;
  return first && absent && refusalWith('NotFound', absent(first.id));
}
