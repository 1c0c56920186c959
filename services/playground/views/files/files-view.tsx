import '../../styles/files.css';
import type { FileInfo } from '@agent-workflow/client';
import { useRef } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
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
  const upload = useAction<[readonly File[]]>(async (signal, given) => {
    try {
      for (const file of given) await client.files.upload(file, { signal });
    } finally {
      files.again();
    }
  });
  const pick = (): void => picker.current?.click();
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
          upload.start([...(currentTarget.files ?? [])]);
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
            isSending={upload.isBusy.value}
            onSend={pick}
            fault={upload.error.value}
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
