import type { Run } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { isAdmin } from '../../session/me.ts';
import { serviceNow } from '../../session/clock.ts';
import { useLiveList } from '../../session/live-list.ts';
import { route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { Blank } from '../../ui/patterns/blank.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Listed } from '../../ui/patterns/listed.tsx';
import { SaveFilter } from '../../ui/saved-tabs.tsx';
import { useTitle } from '../../ui/title.ts';
import { RunFilters, savedFiltersOfAll } from '../runs/run-filters.tsx';
import { givenFilters, runFilterOf, selectionOf } from '../runs/run-selection.ts';
import { isAnswered } from '../runs/run-words.ts';
import { isUnderWay } from '../runs/status.tsx';
import { AuditExport } from './audit-export.tsx';
import { runInWords } from './masked-errors.ts';
import { ownerOf } from './of-owner.ts';
import { OwnedRun, placeIdOf } from './owned-rows.tsx';

const pageSize = 100;
const given = givenFilters(undefined);

/** The runs of everybody, newest first, by what the address selects; those that wait for a person among them. */
export function AllRuns() {
  useTitle('Operators');
  // Titles and texts of errors are masked: nothing is found by them.
  const { search: _search, error: _error, ...selection } = selectionOf(route.value.query);
  const { user = '' } = route.value.query;
  const query = { ...selection, ...(user && { user }) };
  const isExporting = useSignal(false);
  const isOfWaiting = selection['status'] === 'interrupted';
  const runs = useLiveList<Run>({
    load: async (cursor, signal) => {
      const only = { ...ownerOf(user), ...(cursor !== undefined && { cursor }) };
      const page = await client.admin.listRuns(
        { ...runFilterOf(selection, serviceNow()), ...only, limit: pageSize },
        { signal },
      );
      const runs = page.runs.map(runInWords);
      return { items: runs.filter((run) => !isOfWaiting || !isAnswered(run)), cursor: page.cursor };
    },
    inputs: [JSON.stringify(query)],
    keyOf: placeIdOf,
    timeOf: createdAt,
    isMoving: ({ status }) => isUnderWay(status),
    isReading: () => false,
  });
  const { items } = runs.state.value;
  return (
    <ListPane
      title="Operators"
      count={items.length > 0 && `Runs of everybody`}
      actions={
        <>
          <SaveFilter given={given} saved={savedFiltersOfAll} query={query} />
          <a class="button" href={toHash({ view: 'operators', query: { list: 'threads', ...(user && { user }) } })}>
            Threads
          </a>
          {isAdmin() && (
            <button
              type="button"
              onClick={() => {
                isExporting.value = true;
              }}
            >
              Export the audit
            </button>
          )}
        </>
      }
      filters={<RunFilters view="operators" query={query} given={given} />}
    >
      <Listed
        list={runs}
        entries={items}
        label="Runs of everybody"
        thing="run"
        estimate={40}
        keyOf={placeIdOf}
        none={<Blank title="No run is as you ask" text="Another filter may find some." />}
        render={(run) => <OwnedRun run={run} />}
      />
      {isExporting.value && (
        <AuditExport
          onClose={() => {
            isExporting.value = false;
          }}
        />
      )}
    </ListPane>
  );
}

const createdAt = (run: Run): number => Date.parse(run.created_at ?? '');
