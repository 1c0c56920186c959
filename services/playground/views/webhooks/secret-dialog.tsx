import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { Modal } from '../../ui/modal.tsx';
import { CopyId } from '../../ui/patterns/copy-id.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';

/** Shows with what requests to a webhook are signed, to copy it. */
export function SecretDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { state, again } = useLoaded((signal) => client.webhooks.secret(id, { signal }), []);
  const { value, error } = state.value;
  return (
    <Modal title="Secret" onClose={onClose}>
      <div class="stack">
        {error !== undefined && <Failure error={error} retry={again} />}
        {value === undefined && error === undefined && <Skeleton rows={1} />}
        {value && (
          <p>
            Requests are signed with <CopyId id={value.secret} what="the secret" />
          </p>
        )}
        {value?.old_secret !== undefined && (
          <p>
            The one before, <CopyId id={value.old_secret} what="the old secret" />, counts until{' '}
            <RelativeTime at={value.old_secret_until} />.
          </p>
        )}
        <div class="row row-end">
          <button type="button" autofocus onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Modal>
  );
}
