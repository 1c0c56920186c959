import '../../styles/files.css';
import type { FileInfo } from '@agent-workflow/client';
import { useEffect, useRef } from 'preact/hooks';
import { serviceNow } from '../../session/clock.ts';
import { useKeys } from '../../session/keys.ts';
import { useLiveList } from '../../session/live-list.ts';
import { go, route } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { isRead } from '../../ui/new-items.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Panes } from '../../ui/patterns/panes.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { deleteLater } from './deleting.ts';
import { FileList } from './file-list.tsx';
import { FilePane } from './file-pane.tsx';
import { fileFilterOf, fileSelectionOf } from './file-selection.ts';
import { failedUploads, forgetFailed, isSending, uploadAll } from './uploads.ts';

const pageSize = 100;

/** The files of the reader, beside the one that is open. */
export function FilesView() {
  const { id, query } = route.value;
  const selection = fileSelectionOf(query);
  const picker = useRef<HTMLInputElement>(null);
  const files = useLiveList<FileInfo>({
    load: async (cursor, signal) => {
      const filter = fileFilterOf(selection, serviceNow());
      const page = await client.files.list(
        { ...filter, limit: pageSize, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      return { items: page.files, cursor: page.cursor };
    },
    inputs: [JSON.stringify(selection)],
    keyOf: ({ file_id: each }) => each,
    timeOf: ({ created_at: at }) => Date.parse(at),
    isMoving: () => false,
    isReading: () => isRead(document.querySelector('.file-rows')),
  });
  // What was sent is listed, also what was chosen before the list was left.
  const wasSending = useRef(false);
  useEffect(() => {
    if (wasSending.current && !isSending.value) files.again();
    wasSending.current = isSending.value;
  }, [isSending.value]);
  useEffect(() => forgetFailed, []);
  const pick = (): boolean => {
    if (isSending.peek()) return false;
    picker.current?.click();
    return true;
  };
  useKeys([{ keys: '', text: 'Send a file', group: 'Files', isAction: true, run: pick }]);
  const onDelete = (file: FileInfo): void => {
    deleteLater(file, () => go({ view: 'files', id: file.file_id, query: selection }));
    go({ view: 'files', query: selection });
  };
  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          void uploadAll([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
      <Panes
        hasDetail={id !== undefined}
        list={
          <FileList
            files={files}
            query={selection}
            openId={id}
            isSending={isSending.value}
            onSend={pick}
            failed={failedUploads.value}
          />
        }
        detail={
          <RawOnFault key={id}>
            {id === undefined ? <NoFile /> : <FilePane key={id} id={id} query={selection} onDelete={onDelete} />}
          </RawOnFault>
        }
      />
    </>
  );
}

function NoFile() {
  useTitle('Files');
  return <Blank title="No file is open" text="Choose one to see it, to save it, or to delete it." />;
}
