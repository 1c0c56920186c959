import { useAction } from '../../session/action.ts';
import { serviceNow } from '../../session/clock.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { textIn } from '../../ui/form-text.ts';
import { Modal } from '../../ui/modal.tsx';
import { saveFile } from '../../ui/save-file.ts';

/** Lines of one reply, and replies of one file, at most. */
const linesAtOnce = 10_000;
const mostReplies = 20;

const dayMs = 24 * 3600 * 1000;

/** The lines of a time as JSONL, the newest first. @throws RequestError */
async function readAudit(from: number, signal: AbortSignal): Promise<Blob> {
  const query = { from: new Date(from).toISOString(), to: new Date(serviceNow()).toISOString(), limit: linesAtOnce };
  const parts: string[] = [];
  let before: string | undefined;
  for (let replies = 0; replies < mostReplies; replies++) {
    const lines = await client.admin.exportAudit({ ...query, ...(before !== undefined && { before }) }, { signal });
    parts.push(...lines.map((line) => `${JSON.stringify(line)}\n`));
    before = lines.at(-1)?.id;
    if (lines.length < linesAtOnce) break;
  }
  return new Blob(parts, { type: 'application/x-ndjson' });
}

/** Saves who has read or done what with things of others. */
export function AuditExport({ onClose }: { readonly onClose: () => void }) {
  const saving = useAction<[number]>(async (signal, days) => {
    saveFile(await readAudit(serviceNow() - days * dayMs, signal), 'audit.jsonl');
    onClose();
  });
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    saving.start(Number(textIn(new FormData(event.currentTarget as HTMLFormElement), 'days')));
  };
  return (
    <Modal title="Export the audit" onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        <p>Each read of contents, stop and retry by operators is a line of JSON: who, what, and why.</p>
        <label>
          Days, back from now
          <input name="days" type="number" required min={1} max={365} defaultValue="7" autofocus />
        </label>
        {saving.error.value !== undefined && <ErrorNote error={saving.error.value} />}
        <div class="row row-end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button-first" disabled={saving.isBusy.value}>
            Export
          </button>
        </div>
      </form>
    </Modal>
  );
}
