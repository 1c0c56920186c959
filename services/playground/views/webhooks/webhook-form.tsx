import type { Webhook, WebhookEvent } from '@agent-workflow/client';
import { useState } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { client } from '../../session/session.ts';
import { Modal } from '../../ui/modal.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { webhookEvents } from './webhook-text.ts';

interface WebhookFormProps {
  /** The one to change; a new one without it. */
  readonly webhook?: Webhook;
  readonly onClose: () => void;
  readonly onSaved: (saved: Webhook) => void;
}

/** Registers a webhook, or changes one: where, and which ends of runs. */
export function WebhookForm({ webhook, onClose, onSaved }: WebhookFormProps) {
  const [url, setUrl] = useState(webhook?.url ?? 'https://');
  const [description, setDescription] = useState(webhook?.description ?? '');
  const [events, setEvents] = useState<readonly WebhookEvent[]>(
    webhook === undefined || webhook.events.length === 0 ? webhookEvents : webhook.events,
  );
  const save = useAction<[]>(async (signal) => {
    const body = { url: url.trim(), description, events };
    const saved = webhook
      ? await client.webhooks.update(webhook.webhook_id, body, { signal })
      : await client.webhooks.create(body, { signal });
    onSaved(saved);
    onClose();
  });
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    save.start();
  };
  const turn = (event: WebhookEvent, isOn: boolean): void =>
    setEvents(webhookEvents.filter((each) => (each === event ? isOn : events.includes(each))));
  return (
    <Modal title={webhook ? 'Edit the webhook' : 'New webhook'} class="wide-dialog" onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        <label>
          Address
          <input type="url" required autofocus value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
          <span class="hint">
            It is sent a signed POST request. Only the public internet is reached, unless the operator says otherwise.
          </span>
        </label>
        <label>
          Name
          <input value={description} onInput={(event) => setDescription(event.currentTarget.value)} />
        </label>
        <fieldset class="checks">
          <legend>Sent when a run has</legend>
          {webhookEvents.map((event) => (
            <label key={event} class="inline">
              <input
                type="checkbox"
                checked={events.includes(event)}
                onChange={({ currentTarget }) => turn(event, currentTarget.checked)}
              />
              {sentences[event]}
            </label>
          ))}
        </fieldset>
        {save.error.value !== undefined && <Failure error={save.error.value} />}
        <div class="row row-end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" disabled={save.isBusy.value || events.length === 0}>
            {webhook ? 'Save' : 'Add the webhook'}
          </button>
        </div>
      </form>
    </Modal>
  );
}

const sentences: Readonly<Record<WebhookEvent, string>> = {
  'run.completed': 'ended with a result',
  'run.failed': 'failed',
  'run.interrupted': 'asked a question, or for a tool of the caller',
  'run.stopped': 'been stopped',
};
