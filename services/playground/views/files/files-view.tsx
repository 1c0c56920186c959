import '../../styles/files.css';
import { RequestError, type FileInfo } from '@agent-workflow/client';
import { useRef } from 'preact/hooks';
import { useAction } from '../../session/action.ts';
import { useKeys } from '../../session/keys.ts';
import { useLoaded } from '../../session/loaded.ts';
import { go, route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { Icon } from '../../ui/icon.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Panes } from '../../ui/patterns/panes.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { FilePane } from './file-pane.tsx';
import { forgetFiles, keepFile, keptFiles } from './kept-files.ts';
import { sizeText } from './kept-ids.ts';

/** The files that were sent from this browser, beside the one that is open. Any other is found by its id. */
export function FilesView() {
  const { id } = route.value;
  const picker = useRef<HTMLInputElement>(null);
  const { state, again } = useLoaded(readKept, [keptFiles.value.join()]);
  const upload = useAction<[readonly File[]]>(async (signal, files) => {
    for (const file of files) keepFile((await client.files.upload(file, { signal })).file_id);
  });
  const pick = (): void => picker.current?.click();
  useKeys([{ keys: '', text: 'Send a file', group: 'Files', isAction: true, run: pick }]);
  const { value: files, error, isLoading } = state.value;
  return (
    <Panes
      hasDetail={id !== undefined}
      list={
        <ListPane
          title="Files"
          actions={
            <button type="button" disabled={upload.isBusy.value} onClick={pick}>
              <Icon name="plus" />
              Send
            </button>
          }
          filters={<FindById />}
        >
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
          {upload.error.value !== undefined && <Failure error={upload.error.value} />}
          {error !== undefined && <Failure error={error} retry={again} />}
          {files === undefined && isLoading && keptFiles.value.length > 0 && <Skeleton rows={4} />}
          {files?.length === 0 && <NoFiles onSend={pick} />}
          <ul class="plain">
            {files?.map((file) => (
              <li key={file.file_id}>
                <FileRow file={file} isOpen={file.file_id === id} />
              </li>
            ))}
          </ul>
        </ListPane>
      }
      detail={<RawOnFault key={id}>{id === undefined ? <NoFile /> : <FilePane key={id} id={id} />}</RawOnFault>}
    />
  );
}

/** What is known of the kept files. One that is not there any more is taken off the list. */
async function readKept(signal: AbortSignal): Promise<readonly FileInfo[]> {
  const gone: string[] = [];
  const read: FileInfo[] = [];
  for (const id of keptFiles.peek()) {
    try {
      read.push(await client.files.info(id, { signal }));
    } catch (error) {
      if (!(error instanceof RequestError && error.status === 404)) throw error;
      gone.push(id);
    }
  }
  if (gone.length > 0) forgetFiles(gone);
  return read;
}

function NoFile() {
  useTitle('Files');
  return <Blank title="No file is open" text="Choose one to see it, or find one by its id." />;
}

const NoFiles = ({ onSend }: { readonly onSend: () => void }) => (
  <Blank
    title="No file yet"
    text="Files are sent once and named by their ids in messages. Those that this browser has sent stand here."
    action={
      <button type="button" class="button-first" onClick={onSend}>
        Send a file
      </button>
    }
    docs="/docs/files"
  />
);

const FileRow = ({ file, isOpen }: { readonly file: FileInfo; readonly isOpen: boolean }) => (
  <Row
    href={toHash({ view: 'files', id: file.file_id })}
    title={file.filename}
    facts={[file.mime_type, sizeText(file.size_bytes)]}
    time={<RelativeTime at={file.created_at} />}
    isSelected={isOpen}
  />
);

/** Opens a file by its id. */
function FindById() {
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const box = (event.currentTarget as HTMLFormElement).querySelector('input');
    const id = box?.value.trim() ?? '';
    if (id !== '') go({ view: 'files', id });
  };
  return (
    <form role="search" aria-label="Files" onSubmit={onSubmit}>
      <input type="search" aria-label="Find by id" placeholder="Id of a file, then Enter" />
    </form>
  );
}
