import { sizeText } from '../../ui/format.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Attached, Attachments as Kept } from './attached.ts';

interface AttachedFilesProps {
  readonly attachments: Kept;
  readonly isDisabled: boolean;
  readonly onChange: (change: (now: Kept) => Kept) => void;
}

/** The files that go with the next message, and the names of those that are to be attached again. */
export function AttachedFiles({ attachments: { files, lost }, isDisabled, onChange }: AttachedFilesProps) {
  const takeAway = (id: string): void =>
    onChange((now) => ({ ...now, files: now.files.filter((each) => each.id !== id) }));
  return (
    <>
      {files.length > 0 && (
        <ul class="attached" aria-label="Attached files">
          {files.map((file) => (
            <AttachedFile key={file.id} {...{ file, isDisabled }} onTaken={() => takeAway(file.id)} />
          ))}
        </ul>
      )}
      {lost.length > 0 && (
        <div class="note" role="alert">
          <span>Not kept when the page was loaded again, so attach again: {lost.join(', ')}</span>
          <button type="button" onClick={() => onChange((now) => ({ ...now, lost: [] }))}>
            Dismiss
          </button>
        </div>
      )}
    </>
  );
}

interface AttachedFileProps {
  readonly file: Attached;
  readonly isDisabled: boolean;
  readonly onTaken: () => void;
}

const AttachedFile = ({ file: { name, size }, isDisabled, onTaken }: AttachedFileProps) => (
  <li>
    <Icon name="files" />
    <span dir="auto">{name}</span>
    <span class="hint">{sizeText(size)}</span>
    <button
      type="button"
      class="button-quiet button-sign tiny"
      disabled={isDisabled}
      aria-label={`Take ${name} away`}
      onClick={onTaken}
    >
      <Icon name="close" />
    </button>
  </li>
);

interface AttachButtonProps {
  readonly isDisabled: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}

/** Chooses files from this device. */
export const AttachButton = ({ isDisabled, onFiles }: AttachButtonProps) => (
  <label class="button button-quiet button-sign attach" title="Attach files">
    <Icon name="clip" />
    <span class="unseen">Attach files</span>
    <input
      class="unseen"
      type="file"
      multiple
      disabled={isDisabled}
      onChange={({ currentTarget: input }) => {
        onFiles([...(input.files ?? [])]);
        // The same file may be chosen again after it was taken away.
        input.value = '';
      }}
    />
  </label>
);
