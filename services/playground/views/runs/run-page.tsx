import type { Run } from '@agent-workflow/client';
import { useSignal, type Signal } from '@preact/signals';
import { useState, useId } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { EventList } from './event-list.tsx';
import { useFollowedRun, type FollowedRun } from './followed-run.ts';
import { counted, grouped } from '../../ui/format.ts';
import { GraphPanel } from './graph-panel.tsx';
import { createFiltered, noFilter, type EventFilter } from './log/filtered.ts';
import type { ListedEvent, Visit } from './log/run-log.ts';
import { useRecord } from './recorded-run.ts';
import { RunHead } from './run-head.tsx';
import { isUnderWay } from './status.tsx';
import { StepList } from './step-list.tsx';
import { useNow } from './use-now.ts';
import type { ComponentChildren } from 'preact';
import { JsonView } from '../../ui/json-view.tsx';

/** One run: what is known of it, its steps and events as they come, and its way through the graph. */
export function RunPage({ id }: { readonly id: string }) {
  useTitle(`Run ${id}`);
  const followed = useFollowedRun(id);
  const { log, phase } = followed;
  const run = useLoaded(
    (signal) => client.runs.get(id, { signal }),
    [id, phase.value === 'ended', phase.value === 'following'],
  );
  const { value, error } = run.state.value;
  if (error !== undefined && value === undefined) {
    return (
      <>
        <h1>Run</h1>
        <ErrorNote error={error} again={run.again} />
      </>
    );
  }
  return (
    <div class="run">
      <RunHead id={id} run={value} followed={followed} onStopped={run.again} />
      {value && <RunBody key={log.generation} run={value} followed={followed} />}
    </div>
  );
}

interface RunBodyProps {
  readonly run: Run;
  readonly followed: FollowedRun;
}

function RunBody({ run, followed }: RunBodyProps) {
  const { log, phase } = followed;
  followed.readVersion();
  const [open, setOpen] = useState<'steps' | 'events'>('steps');
  const filter = useSignal<EventFilter>(noFilter);
  const selected = useSignal<ListedEvent | undefined>(undefined);
  const [filtered] = useState(createFiltered);
  const now = useNow(phase.value !== 'ended' && log.open.size > 0);
  const record = useRecord(log.last === undefined ? undefined : run.thread_id, run.run_id);
  const isGrowing = log.last === undefined && isUnderWay(run.status);
  const shown = filtered.read(log, filter.value);
  const showEvents = ({ step, node }: Visit): void => {
    filter.value = { ...noFilter, visit: { step, node } };
    setOpen('events');
  };
  return (
    <div class="run-body">
      <Tabs
        label="What the run did"
        open={open}
        onOpen={setOpen}
        tabs={[
          { key: 'steps', title: `Steps (${grouped(log.visits.length)})` },
          { key: 'events', title: `Events (${grouped(log.events.length)})` },
        ]}
      >
        <RawOnFault key={open}>
          {open === 'steps' ? (
            <StepList log={log} isGrowing={isGrowing} now={now} record={record} onShow={showEvents} />
          ) : (
            <EventList log={log} isGrowing={isGrowing} items={shown} filter={filter} selected={selected} />
          )}
        </RawOnFault>
      </Tabs>
      <aside class="run-side" aria-label="Graph and selected event">
        <RawOnFault raw={selected.value?.event}>
          <EventPanel items={shown} selected={selected} />
        </RawOnFault>
        <RawOnFault>
          <GraphPanel agent={run.agent} log={log} now={now} />
        </RawOnFault>
      </aside>
      {log.unlisted > 0 && (
        <p class="hint">
          The list is full: {counted(log.unlisted, 'part')} of messages are not listed. Whole messages are.
        </p>
      )}
    </div>
  );
}

interface Tab<K extends string> {
  readonly key: K;
  readonly title: string;
}

interface TabsProps<K extends string> {
  readonly label: string;
  readonly tabs: readonly Tab<K>[];
  readonly open: K;
  readonly onOpen: (key: K) => void;
  /** What the open tab shows. */
  readonly children: ComponentChildren;
}

/** Tabs above one panel. The arrow keys go from tab to tab. */
function Tabs<K extends string>({ label, tabs, open, onOpen, children }: TabsProps<K>) {
  const id = useId();
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    const at = tabs.findIndex(({ key }) => key === open);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (!next) return;
    onOpen(next.key);
    document.getElementById(`${id}-${next.key}`)?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map(({ key, title }) => (
          <button
            key={key}
            type="button"
            role="tab"
            id={`${id}-${key}`}
            aria-selected={key === open}
            aria-controls={`${id}-panel`}
            tabIndex={key === open ? 0 : -1}
            onClick={() => onOpen(key)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${open}`} class="tab-panel">
        {children}
      </div>
    </div>
  );
}

interface EventPanelProps {
  /** The events that are listed, among which the selected one may not be any more. */
  readonly items: readonly ListedEvent[];
  readonly selected: Signal<ListedEvent | undefined>;
}

/** The JSON of the event that is selected, and the ways to its neighbours. */
function EventPanel({ items, selected }: EventPanelProps) {
  const item = selected.value;
  if (!item) return null;
  const at = indexOf(items, item.seq);
  const show = (index: number): void => {
    selected.value = items[index] ?? item;
  };
  return (
    <section class="event-panel" aria-label="Selected event">
      <div class="pane-head">
        <h2>Event {item.seq}</h2>
        <button type="button" disabled={at <= 0} onClick={() => show(at - 1)}>
          Previous
        </button>
        <button type="button" disabled={at < 0 || at + 1 >= items.length} onClick={() => show(at + 1)}>
          Next
        </button>
        <button
          type="button"
          onClick={() => {
            selected.value = undefined;
          }}
        >
          Close
        </button>
      </div>
      <JsonView label={`JSON of event ${String(item.seq)}`} value={item.event} />
    </section>
  );
}

/** The place of an event by its number: the list is in the order of their numbers. */
function indexOf(items: readonly ListedEvent[], seq: number): number {
  let [low, high] = [0, items.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = items[middle]?.seq ?? 0;
    if (found === seq) return middle;
    if (found < seq) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
