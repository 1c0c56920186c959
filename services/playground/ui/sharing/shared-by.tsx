import type { Share } from '@agent-workflow/client';
import { exactTime } from '../time-text.ts';
import { yoursText } from './share-words.ts';

/** Whose thread it is, and what the reader may do with it. */
export const SharedBy = ({ share }: { readonly share: Share }) => (
  <>
    <span class="shared-by">
      Shared by <b dir="auto">{share.user_id}</b>
    </span>
    <span>{yoursText(share)}</span>
    {share.until !== null && <span>until {exactTime(Date.parse(share.until))}</span>}
  </>
);
