import type { Checkpoint } from '@agent-workflow/client';
import { useId } from 'preact/hooks';
import type { PagedList } from '../../session/pages.ts';
import { route, toHash } from '../../session/route.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { keepingText, versionFacts, versionTitle } from './version-text.ts';

interface VersionListProps {
  readonly versions: PagedList<Checkpoint>;
  /** The version that is open; `undefined` for the thread as it is. */
  readonly openId: string | undefined;
}

/** What made the state what it is, the newest first; each leads to what it changed. */
export function VersionList({ versions, openId }: VersionListProps) {
  const heading = useId();
  const { items, cursor, isLoading, error } = versions.state.value;
  return (
    <nav class="versions" aria-labelledby={heading}>
      <h2 id={heading}>
        Versions{' '}
        <span class="hint">{items.length > 0 && `${String(items.length)}${cursor === undefined ? '' : '+'}`}</span>
      </h2>
      {items.length === 0 && isLoading && <Skeleton rows={4} />}
      <ol class="plain version-strip">
        <li>
          <VersionLink at={undefined} title="Now" facts="" time={null} isOpen={openId === undefined} source="now" />
        </li>
        {items.map((version) => (
          <li key={version.checkpoint_id}>
            <VersionLink
              at={version.checkpoint_id}
              title={versionTitle(version)}
              facts={versionFacts(version)}
              time={version.created_at}
              isOpen={version.checkpoint_id === openId}
              source={version.source}
            />
          </li>
        ))}
      </ol>
      {(cursor !== undefined || error !== undefined) && (
        <LoadMore pages={versions.state.value} thing="version" more={versions.more} again={versions.again} />
      )}
      {cursor === undefined && !isLoading && <p class="hint small">{keepingText}</p>}
    </nav>
  );
}

interface VersionLinkProps {
  readonly at: string | undefined;
  readonly title: string;
  readonly facts: string;
  readonly time: string | null;
  readonly isOpen: boolean;
  readonly source: Checkpoint['source'] | 'now';
}

function VersionLink({ at, title, facts, time, isOpen, source }: VersionLinkProps) {
  return (
    <a
      class={`version version-${source}`}
      href={hrefOf(at)}
      title={at === undefined ? undefined : `Version ${at}`}
      aria-current={isOpen ? 'true' : undefined}
    >
      <span class="version-title" dir="auto">
        {title}
      </span>
      <RelativeTime at={time} />
      {facts !== '' && <span class="version-facts">{facts}</span>}
    </a>
  );
}

/** The address of the open thread at a version. */
function hrefOf(at: string | undefined): string {
  const { view, id, query } = route.value;
  const { at: _, from: __, ...rest } = query;
  return toHash({ view, ...(id !== undefined && { id }), query: { ...rest, ...(at !== undefined && { at }) } });
}
