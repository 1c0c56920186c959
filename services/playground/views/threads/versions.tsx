import type { Checkpoint } from '@agent-workflow/client';
import { useId } from 'preact/hooks';
import type { PagedList } from '../../session/pages.ts';
import { route, toHash } from '../../session/route.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { Time } from '../../ui/time.tsx';
import { keepingText, nodesText, versionName } from './version-text.ts';

interface VersionsProps {
  readonly versions: PagedList<Checkpoint>;
  readonly openId: string | undefined;
}

/** The checkpoints of a thread, the newest first; each leads to the state as it was. */
export function Versions({ versions, openId }: VersionsProps) {
  const heading = useId();
  const { items, cursor } = versions.state.value;
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>Versions</h2>
      <div class="scrolled" tabIndex={0} role="region" aria-label="List of versions">
        <table>
          <thead>
            <tr>
              <th scope="col">Made by</th>
              <th scope="col">Nodes → next</th>
              <th scope="col">At</th>
            </tr>
          </thead>
          <tbody>
            <tr class={openId === undefined ? 'open' : ''}>
              <th scope="row" colSpan={3}>
                <a href={hashOf(undefined)} aria-current={openId === undefined ? 'true' : undefined}>
                  Now
                </a>
              </th>
            </tr>
            {items.map((version) => (
              <VersionRow key={version.checkpoint_id} version={version} isOpen={version.checkpoint_id === openId} />
            ))}
          </tbody>
        </table>
      </div>
      <LoadMore pages={versions.state.value} thing="version" more={versions.more} again={versions.again} />
      {cursor === undefined && <p class="hint small">{keepingText}</p>}
    </section>
  );
}

function VersionRow({ version, isOpen }: { readonly version: Checkpoint; readonly isOpen: boolean }) {
  return (
    <tr class={isOpen ? 'open' : ''}>
      <th scope="row">
        <a
          href={hashOf(version.checkpoint_id)}
          title={`Version ${version.checkpoint_id}`}
          aria-current={isOpen ? 'true' : undefined}
        >
          {versionName(version)}
        </a>
      </th>
      <td>{nodesText(version)}</td>
      <td>
        <Time at={version.created_at} />
      </td>
    </tr>
  );
}

/** The address of the open thread at a version. */
function hashOf(at: string | undefined): string {
  const { view, id, query } = route.value;
  const { at: _, from: __, ...rest } = query;
  return toHash({ view, ...(id !== undefined && { id }), query: { ...rest, ...(at !== undefined && { at }) } });
}
