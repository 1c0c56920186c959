import type { Run } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { isAdmin } from '../../session/me.ts';
import { serviceNow } from '../../session/clock.ts';
import { useLiveList } from '../../session/live-list.ts';
import { go, route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { ChoiceBox } from '../../ui/choice-box.tsx';
import { counted, duration } from '../../ui/format.ts';
import { Blank } from '../../ui/patterns/blank.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Listed } from '../../ui/patterns/listed.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { useTitle } from '../../ui/title.ts';
import { rangeChoices, runFilterOf, statusChoices, statusesOf } from '../runs/run-selection.ts';
import { isAnswered, tokensOf, tookMs, whyOf } from '../runs/run-words.ts';
import { isUnderWay } from '../runs/status.tsx';
import { AuditExport } from './audit-export.tsx';
import { runInWords } from './masked-errors.ts';
import { toPlaceId } from './of-owner.ts';

const pageSize = 100;

type Query = Readonly<Record<string, string>>;

/** The runs of everybody, newest first, by what the address selects; those that wait for a person among them. */
export function AllRuns() {
  useTitle('Operators');
  const { query } = route.value;
  const isExporting = useSignal(false);
  const isOfWaiting = query['status'] === 'interrupted';
  const runs = useLiveList<Run>({
    load: async (cursor, signal) => {
      const { user, agent } = query;
      const {
        search: _search,
        error: _error,
        ...filter
      } = runFilterOf({ status: query['status'] ?? '', days: query['days'] ?? '' }, serviceNow());
      const only = { ...(agent && { agent }), ...(user && { user_id: user }), ...(cursor !== undefined && { cursor }) };
      const page = await client.admin.listRuns({ ...filter, ...only, limit: pageSize }, { signal });
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
        isAdmin() && (
          <button
            type="button"
            onClick={() => {
              isExporting.value = true;
            }}
          >
            Export the audit
          </button>
        )
      }
      filters={<Filters query={query} />}
    >
      <Listed
        list={runs}
        entries={items}
        label="Runs of everybody"
        thing="run"
        estimate={40}
        keyOf={placeIdOf}
        none={<Blank title="No run is as you ask" text="Another filter may find some." />}
        render={(run) => <OwnedRow run={run} />}
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

/** The owner of a run; empty for the anonymous one. */
const userOf = ({ user_id: userId }: Run): string => (typeof userId === 'string' ? userId : '');

const placeIdOf = (run: Run): string => toPlaceId({ userId: userOf(run), runId: run.run_id });

function OwnedRow({ run }: { readonly run: Run }) {
  const took = tookMs(run, serviceNow());
  const tokens = tokensOf(run);
  return (
    <Row
      href={toHash({ view: 'operators', id: placeIdOf(run) })}
      status={isAnswered(run) ? 'asked' : run.status}
      title={`${userOf(run) || 'Anonymous'}, ${run.thread_id}`}
      why={whyOf(run)}
      facts={[run.agent, took !== undefined && duration(took), tokens !== undefined && counted(tokens, 'token')].filter(
        (fact) => typeof fact === 'string',
      )}
      time={<RelativeTime at={run.created_at} />}
    />
  );
}

/** Lists other runs: those of the address with these parameters changed; an empty one goes. */
function select(changed: Query): void {
  const query = Object.entries({ ...route.peek().query, ...changed }).filter(([, value]) => value !== '');
  go({ view: 'operators', query: Object.fromEntries(query) }, { replace: true });
}

const Filters = ({ query }: { readonly query: Query }) => (
  <>
    <SearchBox
      label="Owner"
      name="Owner"
      placeholder="Owner"
      value={query['user'] ?? ''}
      onSearch={(user) => select({ user })}
    />
    <SearchBox
      label="Agent"
      name="Agent"
      placeholder="Agent"
      value={query['agent'] ?? ''}
      onSearch={(agent) => select({ agent })}
    />
    <ChoiceBox
      label="Status"
      any="Any status"
      choices={statusChoices}
      value={statusesOf(query['status'] ?? '') ? (query['status'] ?? '') : ''}
      onChoose={(status) => select({ status })}
    />
    <ChoiceBox
      label="Time"
      any="Any time"
      choices={rangeChoices}
      value={query['days'] ?? ''}
      onChoose={(days) => select({ days })}
    />
  </>
);
