import type { Block } from '@agent-workflow/client';
import { useContext, useEffect, useState } from 'preact/hooks';
import { describe, token } from '../../session/session.ts';
import { digest } from '../../ui/json-start.ts';
import { FoldedJson } from '../../ui/json-tree/folded-json.tsx';
import { safeAddress } from '../../ui/safe-text.ts';
import { FileSource } from './chat-source.ts';
import { labelOf, mediaOf, type MediaSource } from './media.ts';

/** Names of files are no longer. */
const maxLabel = 255;

/** An image, a sound, a film or a document. What has no bytes is shown as it came. */
export function Media({ block }: { readonly block: Block }) {
  const source = mediaOf(block, location.origin);
  const label = labelOf(block)?.slice(0, maxLabel);
  if (!source) return <FoldedJson label={digest(block.type)} value={block} />;
  if (source.kind === 'file') return <FileMedia {...{ type: block.type, fileId: source.fileId, label }} />;
  return <Shown {...{ type: block.type, source }} label={label ?? nameOf(block.type)} />;
}

const nameOf = (type: string): string => type.charAt(0).toUpperCase() + type.slice(1);

interface ShownProps {
  readonly type: string;
  readonly source: Exclude<MediaSource, { readonly kind: 'file' }>;
  readonly label: string;
}

function Shown({ type, source: { kind, address }, label }: ShownProps) {
  if (kind === 'loaded' && type === 'image') return <img class="media" src={address} alt={label} />;
  if (kind === 'loaded' && type === 'audio') return <audio controls src={address} aria-label={label} />;
  if (kind === 'loaded' && type === 'video') return <video class="media" controls src={address} aria-label={label} />;
  const href = kind === 'linked' ? safeAddress(address) : address;
  return (
    <p>
      <a href={href} target="_blank" rel="noopener noreferrer" {...(kind === 'loaded' && { download: label })}>
        {label}
        {kind === 'linked' && ` at ${new URL(address).host}`}
      </a>
    </p>
  );
}

/** A file of the service, read with the token of this tab and kept while it is shown. Its record names it when its block does not. */
function FileMedia({
  type,
  fileId,
  label: given,
}: {
  readonly type: string;
  readonly fileId: string;
  readonly label: string | undefined;
}) {
  const client = useContext(FileSource);
  const [address, setAddress] = useState<string>();
  const [filename, setFilename] = useState<string>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const controller = new AbortController();
    let made: string | undefined;
    const { signal } = controller;
    // A file whose record cannot be read is shown without its name.
    const name = given === undefined ? client.files.info(fileId, { signal }).catch(() => undefined) : undefined;
    Promise.all([client.files.get(fileId, { signal }), name]).then(
      ([blob, info]) => {
        if (controller.signal.aborted) return;
        setFilename(info?.filename);
        setAddress((made = URL.createObjectURL(blob)));
      },
      (thrown: unknown) => {
        if (!controller.signal.aborted) setError(thrown);
      },
    );
    return () => {
      controller.abort();
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [fileId, given, token.value]);
  const label = given ?? filename ?? nameOf(type);
  if (error !== undefined)
    return (
      <p class="note note-error">
        {label}: {describe(error)}
      </p>
    );
  if (address === undefined) return <p class="hint">Reading {label} …</p>;
  return <Shown {...{ type, label }} source={{ kind: 'loaded', address }} />;
}
