export {
  eventHash,
  isRecent,
  isSigned,
  newSecret,
  readClaim,
  secretFault,
  triggerFormats,
  type ReadHeader,
  type TriggerFormat,
} from './signatures.ts';
export {
  countingAt,
  createTrigger,
  deleteTrigger,
  findTrigger,
  getTrigger,
  listTriggers,
  rotated,
  triggerOf,
  updateTrigger,
  type Trigger,
  type TriggerContent,
} from './triggers.ts';
