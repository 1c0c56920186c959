import type { Run } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { useTitle } from '../../ui/title.ts';
import { EventList } from './event-list.tsx';
import { EventPanel } from './event-panel.tsx';
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
