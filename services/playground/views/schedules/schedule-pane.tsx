import type { PastSlot, Schedule } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { useRefresh } from '../../session/refresh.ts';
import { go, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { CalmText } from '../../ui/calm-text.tsx';
import { FoldedJson } from '../../ui/json-tree/folded-json.tsx';
import { counted } from '../../ui/format.ts';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { Menu } from '../../ui/patterns/menu.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { StatusDot } from '../../ui/patterns/status-dot.tsx';
import { momentText } from '../../ui/time-text.ts';
import { useTitle } from '../../ui/title.ts';
import { toast } from '../../ui/toasts.tsx';
import { Backfill } from './backfill.tsx';
import { ScheduleForm } from './schedule-form.tsx';
import { agentOf, firstText, scheduleTitle, whenText } from './schedule-text.ts';

interface SchedulePaneProps {
  readonly id: string;
  /** Called when the list must be read again. */
  readonly onChanged: () => void;
}

/** How often an open schedule is read again, in milliseconds. */
const refreshMs = 5000;

/** One schedule: when it starts runs next, and what became of the last times. */
export function SchedulePane({ id, onChanged }: SchedulePaneProps) {
  const { state, again } = useLoaded((signal) => client.schedules.get(id, { signal }), []);
  useRefresh(again, refreshMs);
  const { value: schedule, error, isLoading } = state.value;
  const title = schedule === undefined ? id : scheduleTitle(schedule);
  useTitle(title);
  const changed = (): void => {
    again();
    onChanged();
  };
  return (
    <DetailPane
      label="Schedule"
      crumb="Schedules"
      backHref={toHash({ view: 'schedules' })}
      id={id}
      title={title}
      facts={schedule && <Facts schedule={schedule} />}
      actions={schedule && <Actions schedule={schedule} onChanged={changed} />}
    >
      {error !== undefined && <Failure error={error} retry={again} />}
      {schedule === undefined && isLoading && <Skeleton rows={6} />}
      {schedule && (
        <>
          {schedule.disabled_reason !== undefined && (
            <p class="cause">It starts no run until it is resumed: {schedule.disabled_reason}</p>
          )}
          <LastRuns slots={schedule.last_runs} />
          <NextTimes schedule={schedule} />
          <section aria-label="What runs start with">
            <h2>Starts with</h2>
            {firstText(schedule.run) !== '' && (
              <p class="said-text" dir="auto">
                <CalmText text={firstText(schedule.run).slice(0, 4000)} />
              </p>
            )}
            <FoldedJson label="The whole request" value={schedule.run} />
          </section>
        </>
      )}
    </DetailPane>
  );
}

const overlaps: Readonly<Record<string, string>> = {
  queue: 'waits while the run before goes on',
  cancel_other: 'stops the run before',
  allow: 'runs beside the one before',
};

function Facts({ schedule }: { readonly schedule: Schedule }) {
  const { status, next_at: nextAt, pending, overlap = 'skip', thread, run } = schedule;
  return (
    <>
      <StatusDot status={status === 'disabled' ? 'failed' : status} word={status} hasWord />
      <span>{whenText(schedule)}</span>
      {status === 'active' && nextAt !== undefined && (
        <span>
          next <RelativeTime at={nextAt} isInSentence />
        </span>
      )}
      {pending > 0 && <span>{counted(pending, 'time')} due</span>}
      {agentOf(run) !== undefined && <span>{agentOf(run)}</span>}
      {overlaps[overlap] !== undefined && <span>{overlaps[overlap]}</span>}
      {thread === 'one' && <span>one thread for all runs</span>}
    </>
  );
}

interface ActionsProps {
  readonly schedule: Schedule;
  readonly onChanged: () => void;
}

/** Runs it now, and behind the dots all else that can be done with it. */
function Actions({ schedule, onChanged }: ActionsProps) {
  const { schedule_id: id, status } = schedule;
  const open = useSignal<'edit' | 'backfill' | 'delete' | undefined>(undefined);
  const isPaused = status !== 'active';
  const runNow = useAction<[]>(async (signal) => {
    await client.schedules.run(id, { signal });
    toast({ text: 'A run starts within moments.' });
    onChanged();
  });
  const turn = useAction<[]>(async (signal) => {
    await (isPaused ? client.schedules.resume(id, { signal }) : client.schedules.pause(id, { signal }));
    toast({ text: isPaused ? 'It starts runs again.' : 'It starts no run until it is resumed.' });
    onChanged();
  });
  const deletion = useAction<[]>(async (signal) => {
    await client.schedules.delete(id, { signal });
    toast({ text: 'The schedule is deleted.' });
    onChanged();
    go({ view: 'schedules' });
  });
  const close = (): void => {
    open.value = undefined;
  };
  const failed = [runNow, turn].find(({ error }) => error.value !== undefined);
  return (
    <>
      <button type="button" class="button-first" disabled={runNow.isBusy.value} onClick={() => runNow.start()}>
        Run now
      </button>
      {status !== 'ended' && (
        <button type="button" disabled={turn.isBusy.value} onClick={() => turn.start()}>
          {isPaused ? 'Resume' : 'Pause'}
        </button>
      )}
      <Menu
        label="More actions"
        items={[
          { text: 'Edit …', onSelect: () => void (open.value = 'edit') },
          { text: 'Backfill …', onSelect: () => void (open.value = 'backfill') },
          { text: 'Delete …', isDanger: true, onSelect: () => void (open.value = 'delete') },
        ]}
      />
      {failed && <FailedAction error={failed.error.value} />}
      {open.value === 'edit' && <ScheduleForm schedule={schedule} onClose={close} onSaved={onChanged} />}
      {open.value === 'backfill' && <Backfill id={id} onClose={close} onDone={onChanged} />}
      {open.value === 'delete' && (
        <Confirm title="Delete this schedule?" verb="Delete the schedule" action={deletion} onClose={close}>
          <p>
            <strong>{scheduleTitle(schedule)}</strong> starts no further run. Those that were started go on.
          </p>
        </Confirm>
      )}
    </>
  );
}

const FailedAction = ({ error }: { readonly error: unknown }) => (
  <div class="failed-action">
    <Failure error={error} />
  </div>
);

const outcomes: Readonly<Record<PastSlot['outcome'], string>> = {
  started: 'done',
  skipped: 'idle',
  missed: 'waiting',
  refused: 'failed',
};

/** What became of the last times, the newest first. */
function LastRuns({ slots }: { readonly slots: readonly PastSlot[] }) {
  return (
    <section aria-label="Last runs">
      <h2>Last runs</h2>
      {slots.length === 0 && <p class="hint">It has started no run yet.</p>}
      <ul class="plain rows">
        {slots.map((slot) => (
          <li key={`${slot.slot} ${slot.cause}`}>
            <Row
              href={slot.run_id && toHash({ view: 'runs', id: slot.run_id })}
              status={outcomes[slot.outcome]}
              title={momentText(Date.parse(slot.slot))}
              why={slot.outcome === 'started' ? undefined : (slot.reason ?? slot.outcome)}
              facts={slot.cause === 'slot' ? [] : [slot.cause === 'manual' ? 'run now' : 'backfill']}
              time={<RelativeTime at={slot.at} />}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

function NextTimes({ schedule: { next_times: times, status } }: { readonly schedule: Schedule }) {
  return (
    <section aria-label="Next times">
      <h2>Next times</h2>
      {status !== 'active' && <p class="hint">It starts none until it is resumed.</p>}
      {status === 'active' && times.length === 0 && <p class="hint">It has no time to come.</p>}
      <ol class="plain next-times">
        {times.map((at) => (
          <li key={at}>
            <span>{momentText(Date.parse(at))}</span> <RelativeTime at={at} />
          </li>
        ))}
      </ol>
    </section>
  );
}
