import type { FileInfo } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { go, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { CopyId } from '../../ui/patterns/copy-id.tsx';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { Menu } from '../../ui/patterns/menu.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { Plain } from '../../ui/plain.tsx';
import { useTitle } from '../../ui/title.ts';
import { toast } from '../../ui/toasts.tsx';
import { forgetFiles, keepFile } from './kept-files.ts';
import { sizeText } from './kept-ids.ts';

/** One file: what is known of it, itself where it is an image, and its text where the service has read one. */
export function FilePane({ id }: { readonly id: string }) {
  const { state, again } = useLoaded(async (signal) => {
    const info = await client.files.info(id, { signal });
    keepFile(id);
    return info;
  }, []);
  const { value: file, error, isLoading } = state.value;
  useTitle(file?.filename ?? id);
  return (
    <DetailPane
      label="File"
      crumb="Files"
      backHref={toHash({ view: 'files' })}
      id={id}
      title={file?.filename ?? id}
      facts={file && <Facts file={file} />}
      actions={file && <Actions file={file} />}
    >
      {error !== undefined && <Failure error={error} retry={again} />}
      {file === undefined && isLoading && <Skeleton rows={5} />}
      {file?.mime_type.startsWith('image/') && <Picture file={file} />}
      {typeof file?.extracted_text === 'string' && (
        <section aria-label="Text">
          <h2>Text</h2>
          <Plain text={file.extracted_text} />
        </section>
      )}
    </DetailPane>
  );
}

const Facts = ({ file }: { readonly file: FileInfo }) => (
  <>
    <span>{file.mime_type}</span>
    <span>{sizeText(file.size_bytes)}</span>
    <span>
      sent <RelativeTime at={file.created_at} isInSentence />
    </span>
    {file.expires_at !== undefined && (
      <span>
        goes <RelativeTime at={file.expires_at} isInSentence /> unless a message names it
      </span>
    )}
    <span>
      SHA-256 <CopyId id={file.sha256} what="the hash" />
    </span>
  </>
);

/** Images of more bytes are not shown: they are saved. */
const maxShown = 20_000_000;

/** The image itself, fetched with the reader's token. */
function Picture({ file: { file_id: id, filename, size_bytes: size } }: { readonly file: FileInfo }) {
  const { state, again } = useLoaded(
    async (signal) => (size > maxShown ? undefined : client.files.get(id, { signal })),
    [id],
  );
  const [address, setAddress] = useState<string>();
  const { value: blob, error } = state.value;
  useEffect(() => {
    if (!blob) return undefined;
    const made = URL.createObjectURL(blob);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  if (error !== undefined) return <Failure error={error} retry={again} />;
  return address === undefined ? null : <img class="file-picture" src={address} alt={filename} />;
}

/** Saves it, and behind the dots all else that can be done with it. */
function Actions({ file: { file_id: id, filename } }: { readonly file: FileInfo }) {
  const isAsked = useSignal(false);
  const link = useSignal<string | undefined>(undefined);
  const save = useAction<[]>(async (signal) => {
    const address = URL.createObjectURL(await client.files.get(id, { signal }));
    Object.assign(document.createElement('a'), { href: address, download: filename }).click();
    setTimeout(() => URL.revokeObjectURL(address));
  });
  const share = useAction<[]>(async (signal) => {
    link.value = (await client.files.url(id, { signal })).url;
    toast({ text: 'Anybody who has the address reads the file for ten minutes.' });
  });
  const deletion = useAction<[]>(async (signal) => {
    await client.files.delete(id, { signal });
    forgetFiles([id]);
    toast({ text: `${filename} is deleted.` });
    go({ view: 'files' });
  });
  const failed = [save, share].find(({ error }) => error.value !== undefined);
  return (
    <>
      {link.value !== undefined && <CopyId id={link.value} what="the address" />}
      <button type="button" disabled={save.isBusy.value} onClick={() => save.start()}>
        Save
      </button>
      <Menu
        label="More actions"
        items={[
          { text: 'Make an address for ten minutes', onSelect: () => share.start() },
          { text: 'Delete …', isDanger: true, onSelect: () => void (isAsked.value = true) },
        ]}
      />
      {failed && (
        <div class="failed-action">
          <Failure error={failed.error.value} />
        </div>
      )}
      {isAsked.value && (
        <Confirm
          title="Delete this file?"
          verb="Delete the file"
          action={deletion}
          onClose={() => {
            isAsked.value = false;
          }}
        >
          <p>
            <strong>{filename}</strong> goes for good. Messages that name it stay, without it.
          </p>
        </Confirm>
      )}
    </>
  );
}
