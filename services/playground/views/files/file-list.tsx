import type { FileInfo } from '@agent-workflow/client';
import { useMemo } from 'preact/hooks';
import { serviceNow } from '../../session/clock.ts';
import type { LiveList } from '../../session/live-list.ts';
import { go, route, toHash } from '../../session/route.ts';
import { ChoiceBox } from '../../ui/choice-box.tsx';
import { dayName, groupByDay } from '../../ui/day-groups.ts';
import { grouped, sizeText } from '../../ui/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Listed } from '../../ui/patterns/listed.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { TimeInGroup } from '../../ui/patterns/time-in-group.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { isDeleted } from './deleting.ts';
import { kindChoices, sentRanges } from './file-selection.ts';
import type { FailedUpload } from './uploads.ts';

type Query = Readonly<Record<string, string>>;

/** Lists other files, beside the one that is open. */
function select(changed: Query): void {
  const { id, query } = route.peek();
  const next = Object.entries({ ...query, ...changed }).filter(([, value]) => value !== '');
  go({ view: 'files', ...(id !== undefined && { id }), query: Object.fromEntries(next) }, { replace: true });
}

interface FileListProps {
  readonly files: LiveList<FileInfo>;
  /** The selection of the address. */
  readonly query: Query;
  readonly openId: string | undefined;
  readonly isSending: boolean;
  readonly onSend: () => void;
  /** Files that could not be sent. */
  readonly failed: readonly FailedUpload[];
}

/** The files of the reader, the newest first, by what the address selects. */
export function FileList({ files, query, openId, isSending, onSend, failed }: FileListProps) {
  const { items, cursor } = files.state.value;
  const listed = items.filter((file) => !isDeleted(file));
  return (
    <ListPane
      title="Files"
      count={listed.length > 0 && `${grouped(listed.length)}${cursor === undefined ? '' : '+'}`}
      actions={
        <button type="button" disabled={isSending} onClick={onSend}>
          <Icon name="plus" />
          {isSending ? 'Sending …' : 'Send'}
        </button>
      }
      filters={<FileFilters query={query} />}
    >
      {failed.length > 0 && <NotSent failed={failed} />}
      <div class="file-rows">
        <Rows {...{ files, listed, query, openId, onSend }} />
      </div>
    </ListPane>
  );
}

/** As many names are listed of files that could not be sent. */
const mostNamed = 5;

/** Which files could not be sent, and why the first of them could not. */
function NotSent({ failed }: { readonly failed: readonly FailedUpload[] }) {
  const named = failed.slice(0, mostNamed);
  const rest = failed.length - named.length;
  return (
    <>
      <p class="not-sent">
        Not sent:{' '}
        {named.map(({ name }, at) => (
          <span key={at}>
            {at > 0 && ', '}
            <bdi>{name}</bdi>
          </span>
        ))}
        {rest > 0 && ` and ${grouped(rest)} more`}
      </p>
      <Failure error={failed[0]?.error} />
    </>
  );
}

const FileFilters = ({ query }: { readonly query: Query }) => (
  <>
    <SearchBox
      label="Files"
      placeholder="Name or id"
      value={query['search'] ?? ''}
      onSearch={(search) => select({ search })}
    />
    <ChoiceBox
      label="Kind"
      any="Kind"
      choices={kindChoices}
      value={query['kind'] ?? ''}
      onChoose={(kind) => select({ kind })}
    />
    <ChoiceBox
      label="Time"
      any="Time"
      choices={sentRanges}
      value={query['days'] ?? ''}
      onChoose={(days) => select({ days })}
    />
  </>
);

const sentAt = ({ created_at: at }: FileInfo): number => Date.parse(at);

interface RowsProps extends Pick<FileListProps, 'files' | 'query' | 'openId' | 'onSend'> {
  /** Those that are not deleted. */
  readonly listed: readonly FileInfo[];
}

function Rows({ files, listed, query, openId, onSend }: RowsProps) {
  const entries = useMemo(() => groupByDay(listed, { keyOf: ({ file_id: id }) => id, timeOf: sentAt }), [listed]);
  const now = serviceNow();
  return (
    <Listed
      list={files}
      items={listed}
      entries={entries}
      label="List of files"
      thing="file"
      isCounted
      estimate={52}
      keyOf={({ key }) => key}
      none={<NoFiles query={query} onSend={onSend} />}
      render={(entry) =>
        entry.kind === 'day' ? (
          <h2 class="group">{dayName(entry.at, now)}</h2>
        ) : (
          <FileRow file={entry.item} isOpen={entry.item.file_id === openId} {...{ query, now }} />
        )
      }
    />
  );
}

function NoFiles({ query, onSend }: Pick<FileListProps, 'query' | 'onSend'>) {
  if (Object.keys(query).length > 0)
    return (
      <Blank
        title="No file is as you ask"
        action={
          <a class="button" href={toHash({ view: 'files' })}>
            Show all files
          </a>
        }
      />
    );
  return (
    <Blank
      title="No file yet"
      text="A file is sent once, and messages name it. One that no message names goes after a day."
      action={
        <button type="button" class="button-first" onClick={onSend}>
          Send a file
        </button>
      }
      docs="/docs/files"
    />
  );
}

interface FileRowProps {
  readonly file: FileInfo;
  readonly query: Query;
  readonly isOpen: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const FileRow = ({ file, query, isOpen, now }: FileRowProps) => (
  <Row
    href={toHash({ view: 'files', id: file.file_id, query })}
    title={file.filename}
    facts={[file.mime_type, sizeText(file.size_bytes)]}
    time={<TimeInGroup at={sentAt(file)} now={now} />}
    isSelected={isOpen}
  />
);
