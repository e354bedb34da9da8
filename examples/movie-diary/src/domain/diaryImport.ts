import { v5 } from 'uuid';
import { NAMESPACE } from './film';
import type { ReviewContent } from './review';

/** A row of a diary export that makes a review. */
export interface DiaryRow extends ReviewContent {
  /** Where it ends in the file; the first line is 1. */
  readonly line: number;
  readonly film: { readonly number: number; readonly title: string };
}

export interface RefusedRow {
  readonly line: number;
  readonly reason: string;
}

export interface DiaryFile {
  /** Of its bytes. */
  readonly sha256: string;
  readonly rows: readonly DiaryRow[];
  readonly refused: readonly RefusedRow[];
}

export interface DiaryImport {
  readonly id: string;
  readonly userId: string;
  readonly sha256: string;
  readonly imported: number;
  readonly refused: readonly RefusedRow[];
}

/** The review of a row of an import, each time that it is read. */
export function importedReviewId(importId: string, line: number): string {
  return v5(`import ${importId} ${line}`, NAMESPACE);
}
