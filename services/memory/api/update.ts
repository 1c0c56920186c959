import type { Memory } from '@agent-workflow/protos/memory';
import type { MemoryRecord, StoredMemory } from '../ports/memory.ts';
import { readMetadata, refuseLargeMetadata, refuseLate, refuseTimes, refuseUnfit } from '../record/checks.ts';
import { toJson } from '../record/json.ts';
import { isAlive } from '../record/order.ts';
import { vectorToJson } from '../vectors/unit.ts';
import { absent, toItem } from './items.ts';
import { embed, toIdempotent, toRecord, type Parts } from './parts.ts';

export const createUpdate =
  (parts: Parts): Memory['update'] =>
  async (request, call) => {
    const { owner, memoryId, content, metadataJson } = request;
    const { store } = parts;
    refuseLate(call);
    refuseUnfit(content);
    refuseTimes(request);
    const given = metadataJson && readMetadata(metadataJson);
    const idempotent = toIdempotent(parts, 'update', request);
    const [known] = await store.get(owner, [memoryId]);
    if (!(known && isAlive(known, parts.now())) && !(idempotent && (await store.findUpdated(owner, idempotent))))
      throw absent(memoryId);
    const vector = await embed(parts, { field: 'content', text: content }, call);
    const change = (stored: StoredMemory): MemoryRecord => {
      const { memoryType, category, threadId } = stored;
      const { timestamp: happenedAt = stored.happenedAt, expiresAt = stored.expiresAt } = request;
      const merged = given ? toJson({ ...readMetadata(stored.metadataJson), ...given }) : stored.metadataJson;
      refuseLargeMetadata(merged);
      const fields = { memoryId, content, memoryType, category, threadId, happenedAt, expiresAt, vector };
      return toRecord(parts, { ...fields, metadataJson: merged });
    };
    const updated = await store.update(owner, memoryId, change, idempotent);
    if (!updated) throw absent(memoryId);
    return toItem({ ...updated, content, vectorJson: vectorToJson(vector) });
  };
