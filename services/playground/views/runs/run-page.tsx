import '../../styles/trace.css';
import '../../styles/run-events.css';
import type { Run } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { counted } from '../../ui/format.ts';
import { Failure } from '../../ui/patterns/failure.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { Tabs } from '../../ui/patterns/tabs.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { EventPane } from './event-pane.tsx';
import { EventList } from './event-list.tsx';
import { useFollowedRun, type FollowedRun } from './followed-run.ts';
import { GraphPanel } from './graph-panel.tsx';
import { createFiltered, noFilter, type EventFilter, type EventPlace } from './log/filtered.ts';
import type { ListedEvent, RunLog } from './log/run-log.ts';
import { goTo, readPlace, type RunPlace, type RunTab } from './trace/run-address.ts';
import { RunHead } from './run-head.tsx';
import { isUnderWay } from './status.tsx';
import { Comparison } from './trace/comparison.tsx';
import { hasRecord, useTrace, type FollowedTrace, type KnownTrace } from './trace/followed-trace.ts';
import { placeOf } from './trace/span-reports.ts';
import { findNode } from './trace/span-tree.ts';
import { createStepRecords } from './trace/step-records.ts';
import { TracePanel } from './trace/trace-panel.tsx';
import { titleOf } from './other-run.tsx';
import { useNow } from './use-now.ts';

interface RunPageProps {
  readonly id: string;
  /** The selection of the list that it was opened from. */
  readonly listQuery: Readonly<Record<string, string>>;
}

/** One run: where its time went, why it failed, its way through the graph, and its events. */
export function RunPage({ id, listQuery }: RunPageProps) {
  const followed = useFollowedRun(id);
  const { log, phase } = followed;
  followed.readVersion();
  const run = useLoaded(
    (signal) => client.runs.get(id, { signal }),
    [id, phase.value === 'ended', phase.value === 'following'],
  );
  const traced = useTrace(id, beatOf(log));
  const { value, error } = run.state.value;
  useTitle(value ? titleOf(value) : 'Run');
  if (error !== undefined && value === undefined)
    return (
      <div class="run-absent">
        <h1>Run</h1>
        <Failure error={error} retry={run.again} />
      </div>
    );
  if (!value) return <Skeleton rows={10} />;
  const place = readPlace(route.value.query);
  return (
    <article class={`run-page ${place.isInside ? 'is-inside' : ''}`} aria-label="Run">
      <RunHead
        {...{ followed, traced, place }}
        run={value}
        backHref={toHash({ view: 'runs', query: listQuery })}
        onStopped={run.again}
      />
      <RunBody key={log.generation} run={value} followed={followed} traced={traced} place={place} />
    </article>
  );
}

/** Changes when a step has begun, begun again, or ended. */
const beatOf = ({ visits, open, last }: RunLog): string =>
  [visits.length, open.size, visits.at(-1)?.attempts.length, last?.id].join(' ');

interface RunBodyProps {
  readonly run: Run;
  readonly followed: FollowedRun;
  readonly traced: FollowedTrace;
  readonly place: RunPlace;
}

function RunBody({ run, followed, traced, place }: RunBodyProps) {
  const { log, phase } = followed;
  const trace = traced.trace.value;
  const isOpen = trace ? trace.head.ended_at === null : phase.value !== 'ended';
  const now = useNow(isOpen);
  const records = useMemo(
    () => createStepRecords(run.run_id, run.thread_id, (step) => hasRecord(traced.trace.peek(), step)),
    [run.run_id, run.thread_id],
  );
  return (
    <Tabs
      label="What the run did"
      hasKeys={place.show !== 'trace'}
      tabs={[
        { id: 'trace', title: place.other === undefined ? 'Trace' : 'Comparison' },
        { id: 'graph', title: 'Graph' },
        { id: 'events', title: 'Events', count: log.events.length },
      ]}
      selected={place.show}
      onSelect={(show) => goTo({ show: show as RunTab, isInside: false, isOfSpan: false })}
    >
      <RawOnFault key={`${place.show} ${place.other ?? ''}`}>
        {place.show === 'graph' && <GraphPanel agent={run.agent} log={log} now={now} />}
        {place.show === 'events' && (
          <EventsOfRun run={run} log={log} version={followed.readVersion()} only={placeOfEvents(place, trace)} />
        )}
        {place.show === 'trace' && traced.error.value !== undefined && (
          <Failure error={traced.error.value} retry={traced.again} />
        )}
        {place.show === 'trace' && !trace && traced.error.value === undefined && <Skeleton rows={10} />}
        {place.show === 'trace' && trace && place.other !== undefined && (
          <Comparison trace={trace} other={place.other} place={place} records={records} now={now} />
        )}
        {place.show === 'trace' && trace && place.other === undefined && (
          <TracePanel trace={trace} log={log} place={place} records={records} now={now} />
        )}
      </RawOnFault>
    </Tabs>
  );
}

/** What the events belong to that the address asks for; `undefined`: to the run. */
function placeOfEvents({ isOfSpan, span }: RunPlace, trace: KnownTrace | undefined): EventPlace | undefined {
  const node = isOfSpan && span !== undefined && trace ? findNode(trace.tree, span) : undefined;
  return node && placeOf(node);
}

interface EventsOfRunProps {
  readonly run: Run;
  readonly log: RunLog;
  /** Draws it anew: the log grows in place, and what reads a signal is drawn when its properties change alone. */
  readonly version: number;
  readonly only: EventPlace | undefined;
}

function EventsOfRun({ run, log, only }: EventsOfRunProps) {
  const filter = useSignal<EventFilter>(only ? { ...noFilter, place: only } : noFilter);
  useEffect(() => {
    const { kind, text, place } = filter.peek();
    if (JSON.stringify(place) !== JSON.stringify(only)) filter.value = { kind, text, ...(only && { place: only }) };
  }, [JSON.stringify(only)]);
  const selected = useSignal<ListedEvent | undefined>(undefined);
  const [filtered] = useState(createFiltered);
  const shown = filtered.read(log, filter.value);
  return (
    <div class="run-events">
      <div class="event-column">
        <EventList
          log={log}
          isGrowing={log.last === undefined && isUnderWay(run.status)}
          items={shown}
          filter={filter}
          onAll={() => goTo({ isOfSpan: false })}
          selected={selected}
        />
        {log.unlisted > 0 && (
          <p class="hint">
            The list is full: {counted(log.unlisted, 'part')} of messages are not listed. Whole messages are.
          </p>
        )}
      </div>
      <EventPane items={shown} selected={selected} />
    </div>
  );
}
