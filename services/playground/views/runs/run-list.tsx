import type { Run, RunCounts, RunFilter } from '@agent-workflow/client';
import { signal, useSignal, type Signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useSeveralAgents } from '../../session/agents.ts';
import { serviceNow } from '../../session/clock.ts';
import { useLiveList, type LiveList } from '../../session/live-list.ts';
import { useLoaded } from '../../session/loaded.ts';
import type { ListPage } from '../../session/read-on.ts';
import { useRefresh } from '../../session/refresh.ts';
import { route, toHash } from '../../session/route.ts';
import { isSameQuery, type SavedFilter } from '../../session/saved-filters.ts';
import { client } from '../../session/session.ts';
import { dayName, dayOf, groupByDay } from '../../ui/day-groups.ts';
import { counted, duration, grouped } from '../../ui/format.ts';
import { isRead } from '../../ui/new-items.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Listed } from '../../ui/patterns/listed.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { SaveFilter } from '../../ui/saved-tabs.tsx';
import { TimeInGroup } from '../../ui/patterns/time-in-group.tsx';
import { useTitle } from '../../ui/title.ts';
import type { ListActions } from '../../ui/patterns/virtual-list.tsx';
import { focusRow, leftOf, useLeaving, type LeftList } from './left-list.ts';
import { RunChart } from './run-chart.tsx';
import { RunFilters, savedRunFilters } from './run-filters.tsx';
import {
  anyDuration,
  chartFilterOf,
  givenFilters,
  runFilterOf,
  selectionOf,
  statusesOf,
  type SlowBound,
} from './run-selection.ts';
import { isAnswered, titleOfRun, tokensOf, tookMs, whyOf } from './run-words.ts';
import { isUnderWay } from './status.tsx';
import { StopRun } from './stop-run.tsx';
import { useThrown } from './trace/thrown.ts';

const pageSize = 100;

/** The runs of all threads, newest first, by what the address selects. */
export function RunList({ left, openedId }: Omit<ListedRunsProps, 'query'>) {
  useTitle('Runs');
  const { query } = route.value;
  const selection = selectionOf(query);
  const word = selection['status'] ?? '';
  if (!statusesOf(word)) return <UnknownStatus query={selection} word={word} />;
  return <ListedRuns {...{ left, openedId }} query={selection} />;
}

type Query = Readonly<Record<string, string>>;

/** An address that somebody typed may name a status that no run has: a list of other runs would be a wrong answer. */
function UnknownStatus({ query, word }: { readonly query: Query; readonly word: string }) {
  return (
    <ListPane title="Runs" filters={<RunFilters query={query} given={givenFilters(undefined)} />}>
      <p class="note note-error" role="alert">
        There is no status “{word}”, so no run is listed. Choose one of those that there are.
      </p>
    </ListPane>
  );
}

interface ListedRunsProps {
  readonly query: Query;
  /** The list that a run was opened from, if it was one. */
  readonly left: Signal<LeftList | undefined>;
  /** The run that was opened last. */
  readonly openedId: string | undefined;
}

function ListedRuns({ query, left, openedId }: ListedRunsProps) {
  const before = useRef(leftOf(left.peek(), query)).current;
  const body = useRef<HTMLDivElement>(null);
  const stopped = useSignal<Run | undefined>(undefined);
  // The service counts and lists every run that has asked; of those the list shows those that wait.
  const isOfWaiting = query['status'] === 'interrupted';
  const shown = useRef<readonly Run[]>([]);
  const isShown = (id: string): boolean => shown.current.some((run) => run.run_id === id);
  const runs = useLiveList<Run>({
    load: (cursor, signal, isAgain) =>
      loadPage(runFilterOf(query, serviceNow()), {
        ...{ cursor, signal, least: isAgain ? 1 : pageSize },
        isKept: (run) => !isOfWaiting || !isAnswered(run) || (isAgain && isShown(run.run_id)),
      }),
    inputs: [JSON.stringify(query)],
    keyOf: ({ run_id: id }) => id,
    timeOf: createdAt,
    isMoving: ({ status }) => isUnderWay(status),
    isReading: () => isRead(body.current),
    kept: before?.pages,
  });
  useLeaving(left, () => ({ query, pages: runs.state.peek() }));
  const charted = useCounts(query);
  const given = useGivenFilters(query);
  shown.current = runs.state.value.items;
  const onStopped = (run: Run): void => {
    stopped.value = undefined;
    runs.edit((listed) => listed.map((each) => (each.run_id === run.run_id ? { ...each, ...run } : each)));
  };
  return (
    <ListPane
      title="Runs"
      count={<RunningNow items={runs.state.value.items} />}
      actions={<SaveFilter given={given} saved={savedRunFilters} query={query} />}
      filters={<RunFilters query={query} given={given} />}
    >
      {!isOfWaiting && <div class="run-chart-place">{charted && <RunChart {...charted} query={query} />}</div>}
      <div class="run-rows" ref={body}>
        <Rows
          {...{ runs, query, stopped }}
          days={isOfWaiting ? [] : (charted?.counts.days ?? [])}
          openedId={before && openedId}
        />
      </div>
      {stopped.value && (
        <StopRun
          run={stopped.value}
          onClose={() => {
            stopped.value = undefined;
          }}
          onStopped={onStopped}
        />
      )}
    </ListPane>
  );
}

const createdAt = (run: Run): number => Date.parse(run.created_at ?? '');

function RunningNow({ items }: { readonly items: readonly Run[] }) {
  const count = items.filter(({ status }) => status === 'running').length;
  return count > 0 ? <span class="tone-running">{grouped(count)} running</span> : null;
}

/** How often runs are counted again, in milliseconds. */
const countMs = 30_000;

/** What was slow in the newest selection without bounds of duration: it stays while the runs above it are listed. */
const slowBound = signal<SlowBound | undefined>(undefined);

function useGivenFilters(query: Query): readonly SavedFilter[] {
  const slow = slowBound.value;
  return givenFilters(slow && isSameQuery(slow.query, anyDuration(query)) ? slow : undefined);
}

/** What is selected, counted by days. Where runs cannot be counted the list stands without it. */
function useCounts(query: Query) {
  const { state, again } = useLoaded(
    async (signal) => {
      const now = serviceNow();
      const filter = chartFilterOf(query, now);
      const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
      const counts = await client.runs.counts({ ...filter, timezone: timeZone }, { signal });
      if (isSameQuery(query, anyDuration(query)))
        slowBound.value = counts.duration_ms && { query, p95Ms: counts.duration_ms.p95 };
      return { counts, now, from: Date.parse(filter.from ?? '') };
    },
    [JSON.stringify(query)],
  );
  useRefresh(again, countMs);
  return state.value.value;
}

interface RowsProps {
  readonly runs: LiveList<Run>;
  readonly query: Query;
  readonly stopped: Signal<Run | undefined>;
  /** What was counted of each day. */
  readonly days: RunCounts['days'];
  /** The run that the reader comes back from. */
  readonly openedId: string | undefined;
}

function Rows({ runs, query, stopped, days, openedId }: RowsProps) {
  const { items: read } = runs.state.value;
  const items = useMemo(
    () => (query['status'] === 'interrupted' ? read.filter((run) => !isAnswered(run)) : read),
    [read, query['status']],
  );
  const showsAgent = useSeveralAgents().length > 0;
  const entries = useMemo(() => groupByDay(items, { keyOf: ({ run_id: id }) => id, timeOf: createdAt }), [items]);
  const actions = useRef<ListActions>(null);
  useEffect(() => {
    const at = entries.findIndex(({ key }) => key === openedId);
    if (openedId === undefined || at === -1) return undefined;
    actions.current?.show(at);
    return focusRow(document.querySelector('.run-rows'), toHash({ view: 'runs', id: openedId }));
  }, []);
  const now = serviceNow();
  return (
    <Listed
      list={runs}
      items={items}
      entries={entries}
      label="List of runs"
      thing="run"
      estimate={40}
      keyOf={({ key }) => key}
      none={<NoRuns query={query} />}
      actions={actions}
      render={(entry) =>
        entry.kind === 'day' ? (
          <DayHeading at={entry.at} now={now} counts={days.find(({ day }) => day === dayOf(entry.at))} />
        ) : (
          <RunRow
            run={entry.item}
            now={now}
            showsAgent={showsAgent}
            onStop={() => {
              stopped.value = entry.item;
            }}
          />
        )
      }
    />
  );
}

interface DayHeadingProps {
  readonly at: number;
  readonly now: number;
  /** Absent for a day that is not in the chart. */
  readonly counts: RunCounts['days'][number] | undefined;
}

function DayHeading({ at, now, counts }: DayHeadingProps) {
  const failed = counts?.counts.failed ?? 0;
  return (
    <h2 class="group">
      {dayName(at, now)}
      {counts && (
        <span class="hint">
          {counted(counts.total, 'run')}
          {failed > 0 && `, ${grouped(failed)} failed`}
        </span>
      )}
    </h2>
  );
}

/** Few of many may match: pages are read on until there are enough runs; but not for ever without a word. */
const pagesAtOnce = 5;

interface PageRequest {
  readonly cursor: string | undefined;
  readonly signal: AbortSignal;
  /** So many runs are enough. */
  readonly least: number;
  readonly isKept: (run: Run) => boolean;
}

async function loadPage(filter: RunFilter, { cursor, signal, least, isKept }: PageRequest): Promise<ListPage<Run>> {
  const items: Run[] = [];
  let next = cursor;
  for (let count = 0; ; count++) {
    const page = await client.runs.list({ ...filter, limit: pageSize, cursor: next }, { signal });
    next = page.cursor;
    items.push(...page.runs.filter(isKept));
    if (items.length >= least || next === undefined || count === pagesAtOnce) return { items, cursor: next };
  }
}

interface RunRowProps {
  readonly run: Run;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether runs are of several agents. */
  readonly showsAgent: boolean;
  readonly onStop: () => void;
}

function RunRow({ run, now, showsAgent, onStop }: RunRowProps) {
  const took = tookMs(run, now);
  const tokens = tokensOf(run);
  return (
    <div class="run-row">
      <Row
        href={toHash({ view: 'runs', id: run.run_id })}
        status={isAnswered(run) ? 'asked' : run.status}
        title={titleOfRun(run)}
        why={whyOf(run, useThrown(run))}
        facts={[
          showsAgent && <span class="run-agent">{run.agent}</span>,
          <span class="run-took">{took !== undefined && duration(took)}</span>,
          <span class="run-tokens">{tokens !== undefined && counted(tokens, 'token')}</span>,
        ].filter((fact) => fact !== false)}
        time={<TimeInGroup at={createdAt(run)} now={now} />}
      />
      {isUnderWay(run.status) && (
        <button type="button" class="run-stop" aria-label={`Stop run ${run.run_id}`} onClick={onStop}>
          Stop
        </button>
      )}
    </div>
  );
}

/** Nothing found is another case than nothing there. */
function NoRuns({ query }: { readonly query: Query }) {
  if (Object.keys(query).length === 0)
    return (
      <Blank
        title="No run yet"
        text="A run is what an agent does at one time: a message of a chat starts one, so do schedules and callers of the API. What it did, what it cost and why it failed stands here."
        action={
          <a class="button button-first" href={toHash({ view: 'chat' })}>
            Begin a chat
          </a>
        }
        docs="/docs/threads"
      />
    );
  const { days: _, from: _from, to: _to, ...anyTime } = query;
  const isTimed = Object.keys(anyTime).length < Object.keys(query).length;
  return (
    <Blank
      title="No run is as you ask"
      text={isTimed ? 'There may be some at another time.' : 'Another filter may find some.'}
      action={
        <a class="button" href={toHash({ view: 'runs', query: isTimed ? anyTime : {} })}>
          {isTimed ? 'Look at any time' : 'Show all runs'}
        </a>
      }
    />
  );
}
