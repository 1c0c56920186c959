import '../../styles/schedules.css';
import type { ScheduleItem } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useKeys } from '../../session/keys.ts';
import { usePages, type PagedList } from '../../session/pages.ts';
import { useRefresh } from '../../session/refresh.ts';
import { go, route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { grouped } from '../../ui/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Panes } from '../../ui/patterns/panes.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { ScheduleForm } from './schedule-form.tsx';
import { SchedulePane } from './schedule-pane.tsx';
import { agentOf, scheduleTitle, whenText } from './schedule-text.ts';

const pageSize = 100;

/** How often the list is read again, in milliseconds. */
const refreshMs = 10_000;

/** What starts runs by itself, beside the schedule that is open. */
export function SchedulesView() {
  const { id } = route.value;
  const isMaking = useSignal(false);
  const schedules = usePages(async (cursor, signal) => {
    const page = await client.schedules.list({ limit: pageSize, ...(cursor !== undefined && { cursor }) }, { signal });
    return { items: page.schedules, cursor: page.cursor };
  }, []);
  // Who has read further down stays there.
  useRefresh(() => {
    if (schedules.state.peek().items.length <= pageSize) schedules.again();
  }, refreshMs);
  const make = (): void => {
    isMaking.value = true;
  };
  useKeys([{ keys: '', text: 'New schedule', group: 'Schedules', isAction: true, run: make }]);
  return (
    <>
      <Panes
        hasDetail={id !== undefined}
        list={<ScheduleList schedules={schedules} openId={id} onNew={make} />}
        detail={
          <RawOnFault key={id}>
            {id === undefined ? <NoSchedule /> : <SchedulePane id={id} onChanged={schedules.again} />}
          </RawOnFault>
        }
      />
      {isMaking.value && (
        <ScheduleForm
          onClose={() => {
            isMaking.value = false;
          }}
          onSaved={({ schedule_id: made }) => {
            schedules.again();
            go({ view: 'schedules', id: made });
          }}
        />
      )}
    </>
  );
}

function NoSchedule() {
  useTitle('Schedules');
  return <Blank title="No schedule is open" text="Choose one to see when it starts runs, and what became of them." />;
}

interface ScheduleListProps {
  readonly schedules: PagedList<ScheduleItem>;
  readonly openId: string | undefined;
  readonly onNew: () => void;
}

function ScheduleList({ schedules, openId, onNew }: ScheduleListProps) {
  const { items, cursor, isLoading, error } = schedules.state.value;
  return (
    <ListPane
      title="Schedules"
      count={items.length > 0 && `${grouped(items.length)}${cursor === undefined ? '' : '+'}`}
      actions={
        items.length > 0 && (
          <button type="button" onClick={onNew}>
            <Icon name="plus" />
            New
          </button>
        )
      }
    >
      {items.length === 0 && isLoading && <Skeleton rows={5} />}
      {items.length === 0 && !isLoading && error === undefined && <NoSchedules onNew={onNew} />}
      {error !== undefined && <Failure error={error} retry={schedules.again} />}
      <ul class="plain">
        {items.map((schedule) => (
          <li key={schedule.schedule_id}>
            <RawOnFault raw={schedule}>
              <ScheduleRow schedule={schedule} isOpen={schedule.schedule_id === openId} />
            </RawOnFault>
          </li>
        ))}
      </ul>
      {cursor !== undefined && (
        <LoadMore pages={schedules.state.value} thing="schedule" more={schedules.more} again={schedules.again} />
      )}
    </ListPane>
  );
}

const NoSchedules = ({ onNew }: { readonly onNew: () => void }) => (
  <Blank
    title="No schedule yet"
    text="A schedule starts runs by itself: at the times of a cron expression, at an interval, or once."
    action={
      <button type="button" class="button-first" onClick={onNew}>
        Make a schedule
      </button>
    }
    docs="/docs/schedules"
  />
);

function ScheduleRow({ schedule, isOpen }: { readonly schedule: ScheduleItem; readonly isOpen: boolean }) {
  const { schedule_id: id, status, next_at: nextAt, disabled_reason: reason, run } = schedule;
  return (
    <Row
      href={toHash({ view: 'schedules', id })}
      status={status === 'disabled' ? 'failed' : status}
      title={scheduleTitle(schedule)}
      {...(reason !== undefined && { why: reason })}
      facts={[whenText(schedule), agentOf(run)].filter((fact) => fact !== undefined)}
      time={nextAt !== undefined && status === 'active' ? <RelativeTime at={nextAt} /> : status}
      isSelected={isOpen}
    />
  );
}
