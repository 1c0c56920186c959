import type { Message, Run } from '@agent-workflow/client';
import { copyText } from '../../session/clipboard.ts';
import { token } from '../../session/session.ts';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toasts.tsx';
import { curlText } from './trace/curl-text.ts';
import { contextOf } from './trace/step-record.ts';
import { createStepRecords } from './trace/step-records.ts';

/** Copies a command that makes the same run once more, in a thread of its own; of one whose input is no longer kept, one that reads its trace. */
export function RunCurl({ run }: { readonly run: Run }) {
  const copy = async (): Promise<void> => {
    const messages = await inputOf(run);
    const hasToken = token.peek() !== '';
    const config = run.agent === undefined || run.agent === 'default' ? {} : { config: { agent: run.agent } };
    await copyText(
      messages.length > 0
        ? curlText({ method: 'POST', url: `${location.origin}/v1/runs`, body: { messages, ...config }, hasToken })
        : curlText({ url: `${location.origin}/v1/runs/${encodeURIComponent(run.run_id)}/trace`, hasToken }),
    );
    toast({
      text:
        messages.length > 0 ? 'Copied: the command makes this run once more.' : 'Copied: the command reads the trace.',
    });
  };
  return (
    <button
      type="button"
      class="button-quiet button-sign"
      aria-label="Copy as curl"
      title="Copy as curl"
      onClick={() => void copy().catch(() => toast({ text: 'The browser did not let the page copy.' }))}
    >
      <Icon name="code" />
    </button>
  );
}

/** The messages that a run was started with: the last of the thread, as it was before the first step, that no model gave. */
async function inputOf(run: Run): Promise<readonly Pick<Message, 'role' | 'content'>[]> {
  const { before } = await createStepRecords(run.run_id, run.thread_id, () => false)
    .read(0, new AbortController().signal)
    .catch(() => ({ before: undefined }));
  const context = contextOf(before);
  const from = context.findLastIndex(({ role }) => role === 'assistant') + 1;
  return context.slice(from).map(({ role, content }) => ({ role, content }));
}
