export { lastText, toolResult, user } from './testing/conversation.ts';
export type { CrashSubject } from './testing/crash-walk.ts';
export { walkWithCrashes, type CrashOptions, type CrashReport } from './testing/crashes.ts';
export { fakeFiles, type FakeFiles, type StoredFile } from './testing/fake-files.ts';
export { fakeMemory, type FakeMemory, type StoredMemory } from './testing/fake-memory.ts';
export { fakeModel, type FakeModel, type ScriptedAnswer } from './testing/fake-model.ts';
export { recordedModel, type RecordedModelOptions } from './testing/recorded-model.ts';
export { nobody, walk, type Walked, type WalkOptions } from './testing/walk.ts';
export type { WalkEvent } from './testing/walk-events.ts';
