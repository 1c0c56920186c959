import type { Schedule } from '@agent-workflow/client';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { useSeveralAgents } from '../../session/agents.ts';
import { client } from '../../session/session.ts';
import { Modal } from '../../ui/modal.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { draftOf, newDraft, toChange, toNewSchedule, type ScheduleDraft } from './schedule-draft.ts';

interface ScheduleFormProps {
  /** The one to change; a new one without it. */
  readonly schedule?: Schedule;
  readonly onClose: () => void;
  readonly onSaved: (saved: Schedule) => void;
}

const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Makes a schedule, or changes one: when, and with which message. */
export function ScheduleForm({ schedule, onClose, onSaved }: ScheduleFormProps) {
  const [draft, setDraft] = useState(() => (schedule ? draftOf(schedule, ownZone()) : newDraft(ownZone())));
  const set = (change: Partial<ScheduleDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const save = useAction<[]>(async (signal) => {
    const saved = schedule
      ? await client.schedules.update(schedule.schedule_id, toChange(draft, schedule), { signal })
      : await client.schedules.create(toNewSchedule(draft), { signal });
    onSaved(saved);
    onClose();
  });
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    save.start();
  };
  return (
    <Modal title={schedule ? 'Edit the schedule' : 'New schedule'} class="wide-dialog" onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        <Field label="Message" hint="What each run begins with.">
          <textarea
            rows={3}
            required
            autofocus
            value={draft.message}
            onInput={(event) => set({ message: event.currentTarget.value })}
          />
        </Field>
        <AgentBox draft={draft} set={set} />
        <WhenFields draft={draft} set={set} />
        <Field label="Name" hint="Without one it is called by its message.">
          <input value={draft.name} maxLength={200} onInput={(event) => set({ name: event.currentTarget.value })} />
        </Field>
        <details>
          <summary>When a time cannot be kept, and threads</summary>
          <Policies draft={draft} set={set} />
        </details>
        {save.error.value !== undefined && <Failure error={save.error.value} />}
        <div class="row row-end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" disabled={save.isBusy.value}>
            {schedule ? 'Save' : 'Make the schedule'}
          </button>
        </div>
      </form>
    </Modal>
  );
}

interface PartProps {
  readonly draft: ScheduleDraft;
  readonly set: (change: Partial<ScheduleDraft>) => void;
}

/** The agent of the runs, where there are several. */
function AgentBox({ draft, set }: PartProps) {
  const several = useSeveralAgents();
  if (several.length === 0) return null;
  const hasDefault = several.some((agent) => agent.is_default);
  return (
    <Field label="Agent">
      <select
        required={!hasDefault}
        value={draft.agent}
        onChange={(event) => set({ agent: event.currentTarget.value })}
      >
        <option value="">{hasDefault ? 'The default' : 'Choose one'}</option>
        {several.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </Field>
  );
}

function WhenFields({ draft, set }: PartProps) {
  return (
    <>
      <Field label="When">
        <select
          value={draft.kind}
          onChange={(event) => set({ kind: event.currentTarget.value as ScheduleDraft['kind'] })}
        >
          <option value="cron">At the times of a cron expression</option>
          <option value="every">At an interval</option>
          <option value="once">Once</option>
        </select>
      </Field>
      {draft.kind === 'cron' && (
        <div class="row">
          <Field label="Cron expression" hint="Minute, hour, day, month, day of the week; or @daily.">
            <input required value={draft.cron} onInput={(event) => set({ cron: event.currentTarget.value })} />
          </Field>
          <Field label="Time zone">
            <input required value={draft.timezone} onInput={(event) => set({ timezone: event.currentTarget.value })} />
          </Field>
        </div>
      )}
      {draft.kind === 'every' && (
        <div class="row">
          <Field label="Every">
            <input
              type="number"
              required
              min={1}
              value={draft.every}
              onInput={(event) => set({ every: event.currentTarget.value })}
            />
          </Field>
          <Field label="Unit">
            <select
              value={draft.unit}
              onChange={(event) => set({ unit: event.currentTarget.value as ScheduleDraft['unit'] })}
            >
              <option value="1">seconds</option>
              <option value="60">minutes</option>
              <option value="3600">hours</option>
              <option value="86400">days</option>
            </select>
          </Field>
        </div>
      )}
      {draft.kind === 'once' && (
        <Field label="At">
          <input
            type="datetime-local"
            required
            value={draft.at}
            onInput={(event) => set({ at: event.currentTarget.value })}
          />
        </Field>
      )}
    </>
  );
}

function Policies({ draft, set }: PartProps) {
  return (
    <div class="stack">
      <Field label="While the run before goes on">
        <select
          value={draft.overlap}
          onChange={(event) => set({ overlap: event.currentTarget.value as ScheduleDraft['overlap'] })}
        >
          <option value="skip">Leave the time out</option>
          <option value="queue">Wait for it</option>
          <option value="cancel_other">Stop it</option>
          <option value="allow">Run beside it</option>
        </select>
      </Field>
      <Field label="When times were missed">
        <select
          value={draft.catchUp}
          onChange={(event) => set({ catchUp: event.currentTarget.value as ScheduleDraft['catchUp'] })}
        >
          <option value="one">Make up for the newest</option>
          <option value="all">Make up for all</option>
          <option value="none">Leave them out</option>
        </select>
      </Field>
      <Field label="Threads">
        <select
          value={draft.thread}
          onChange={(event) => set({ thread: event.currentTarget.value as ScheduleDraft['thread'] })}
        >
          <option value="new">A new one for each run</option>
          <option value="one">One for all runs</option>
        </select>
      </Field>
    </div>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly children: ComponentChildren;
}

const Field = ({ label, hint, children }: FieldProps) => (
  <label class="grow">
    {label}
    {children}
    {hint !== undefined && <span class="hint">{hint}</span>}
  </label>
);
