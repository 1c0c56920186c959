import type { FileInfo } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { useLoaded } from '../../session/loaded.ts';
import { toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { CopyId } from '../../ui/patterns/copy-id.tsx';
import { DetailPane } from '../../ui/patterns/detail-pane.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { Menu } from '../../ui/patterns/menu.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { Plain } from '../../ui/plain.tsx';
import { useTitle } from '../../ui/title.ts';
import { toast } from '../../ui/toasts.tsx';
import { isDeleted } from './deleting.ts';
import { sizeText } from '../../ui/format.ts';

interface FilePaneProps {
  readonly id: string;
  /** What the list beside it selects. */
  readonly query: Readonly<Record<string, string>>;
  readonly onDelete: (file: FileInfo) => void;
}

/** One file: what is known of it, and itself where it is an image or a text. */
export function FilePane({ id, query, onDelete }: FilePaneProps) {
  const { state, again } = useLoaded((signal) => client.files.info(id, { signal }), []);
  const { value: file, error, isLoading } = state.value;
  const isGone = isDeleted({ file_id: id });
  const backHref = toHash({ view: 'files', query });
  useTitle(isGone ? 'Files' : (file?.filename ?? id));
  if (isGone)
    return (
      <DetailPane label="File" crumb="Files" backHref={backHref} title="This file is deleted">
        <p class="hint">It can be taken back as long as the notice stands.</p>
      </DetailPane>
    );
  return (
    <DetailPane
      label="File"
      crumb="Files"
      backHref={backHref}
      id={id}
      title={file?.filename ?? id}
      facts={file && <Facts file={file} />}
      actions={file && <Actions file={file} onDelete={() => onDelete(file)} />}
    >
      {error !== undefined && <Failure error={error} retry={again} />}
      {file === undefined && isLoading && <Skeleton rows={5} />}
      {file?.mime_type.startsWith('image/') && <Picture file={file} />}
      {file?.mime_type.startsWith('text/') && file.size_bytes <= maxTextShown && <Text id={id} />}
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

/** Texts of more bytes are not shown: they are saved. */
const maxTextShown = 256 * 1024;

function Text({ id }: { readonly id: string }) {
  const { state, again } = useLoaded(async (signal) => (await client.files.get(id, { signal })).text(), [id]);
  const { value: text, error } = state.value;
  if (error !== undefined) return <Failure error={error} retry={again} />;
  if (text === undefined) return null;
  return (
    <section aria-label="Text">
      <Plain text={text} />
    </section>
  );
}

/** Saves it, and behind the dots all else that can be done with it. */
function Actions({ file, onDelete }: { readonly file: FileInfo; readonly onDelete: () => void }) {
  const { file_id: id, filename } = file;
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
          { text: 'Delete', isDanger: true, onSelect: onDelete },
        ]}
      />
      {failed && (
        <div class="failed-action">
          <Failure error={failed.error.value} />
        </div>
      )}
    </>
  );
}
