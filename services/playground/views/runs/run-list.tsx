import type { Run, RunStatus } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { serviceNow } from '../../session/clock.ts';
import { usePages, type ListPage } from '../../session/pages.ts';
import { go, route } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { withFirstPage } from './listed-runs.ts';
import { RunRow } from './run-row.tsx';
import { isUnderWay, runStatuses, underWay } from './status.tsx';
import { StopRun } from './stop-run.tsx';

const pageSize = 50;
/** How often the newest runs are read again while one of those listed is under way, in milliseconds. */
const refreshMs = 4000;

/** The runs of all threads, newest first, by their status. */
export function RunList() {
  const chosen = route.value.query['status'] ?? '';
  const statuses = statusesOf(chosen);
  const stopped = useSignal<Run | undefined>(undefined);
  const notice = useSignal('');
  const runs = usePages((cursor, signal) => loadPage(statuses, cursor, signal), [chosen]);
  const { items, cursor, isLoading } = runs.state.value;
  const isMoving = items.some(({ status }) => isUnderWay(status));
  useEffect(() => {
    if (!isMoving) return undefined;
    const controller = new AbortController();
    const timer = setInterval(() => {
      if (document.hidden) return;
      // The next reading comes soon: one that fails is not worth a word.
      refresh(controller.signal).catch(() => undefined);
    }, refreshMs);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [isMoving, chosen]);

  const refresh = async (signal: AbortSignal): Promise<void> => {
    const page = await client.runs.list({ ...statusQuery(statuses), limit: pageSize }, { signal });
    if (signal.aborted || runs.state.peek().isLoading) return;
    const merged = withFirstPage(runs.state.peek().items, { runs: page.runs, isWhole: page.cursor === undefined });
    if (merged === undefined) runs.again();
    else runs.edit(() => merged);
  };
  const onStopped = (run: Run): void => {
    stopped.value = undefined;
    notice.value = `The run ${run.run_id} is ${run.status}.`;
    runs.edit((listed) => listed.map((each) => (each.run_id === run.run_id ? { ...each, ...run } : each)));
  };
  const now = serviceNow();
  return (
    <div class="run-list">
      <div class="pane-head">
        <h1>Runs</h1>
        <label class="inline">
          Status
          <select
            value={chosen}
            onChange={({ currentTarget: { value } }) =>
              go({ view: 'runs', query: { ...(value !== '' && { status: value }) } }, { replace: true })
            }
          >
            <option value="">all</option>
            <option value="under-way">under way</option>
            {runStatuses.map((status) => (
              <option key={status} value={status}>
                {status}
              </option>
            ))}
          </select>
        </label>
        <button type="button" disabled={isLoading} onClick={runs.again}>
          Refresh
        </button>
      </div>
      <p class="hint said" role="status">
        {notice.value}
      </p>
      {items.length > 0 && (
        <table class="runs" aria-label="Runs">
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">Run</th>
              <th scope="col">Thread</th>
              <th scope="col">Accepted</th>
              <th scope="col">Took</th>
              <th scope="col">Tokens</th>
              <th scope="col">
                <span class="unseen">Action</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map((run) => (
              <RunRow
                key={run.run_id}
                run={run}
                now={now}
                onStop={() => {
                  stopped.value = run;
                }}
              />
            ))}
          </tbody>
        </table>
      )}
      {items.length === 0 && !isLoading && <p class="hint">{emptySentence(chosen, cursor !== undefined)}</p>}
      <LoadMore pages={runs.state.value} things="runs" more={runs.more} again={runs.again} />
      {stopped.value && (
        <StopRun
          run={stopped.value}
          onClose={() => {
            stopped.value = undefined;
          }}
          onStopped={onStopped}
        />
      )}
    </div>
  );
}

/** A page that holds no run is gone on with, as few of many may match; but not for ever without a word. */
const pagesAtOnce = 5;

async function loadPage(
  statuses: readonly RunStatus[],
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<ListPage<Run>> {
  let next = cursor;
  for (let count = 0; ; count++) {
    const query = { ...statusQuery(statuses), limit: pageSize, ...(next !== undefined && { cursor: next }) };
    const page = await client.runs.list(query, { signal });
    next = page.cursor;
    if (page.runs.length > 0 || next === undefined || count === pagesAtOnce) return { items: page.runs, cursor: next };
  }
}

const statusQuery = (status: readonly RunStatus[]): { readonly status?: readonly RunStatus[] } =>
  status.length === 0 ? {} : { status };

/** The statuses that the address names; none for all of them. */
function statusesOf(chosen: string): readonly RunStatus[] {
  return chosen === 'under-way' ? underWay : runStatuses.filter((status) => status === chosen);
}

function emptySentence(chosen: string, hasMore: boolean): string {
  const what = chosen === '' ? 'no run' : `no run that is ${chosen.replace('-', ' ')}`;
  return hasMore ? `There is ${what} among the newest ones. Load more to look further back.` : `There is ${what}.`;
}
