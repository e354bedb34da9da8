export interface User {
  readonly id: string;
  readonly name: string;
  readonly displayName: string;
  /** Of the profile. */
  readonly version: number;
  /** The actor that the user goes on as. */
  readonly movedTo: string | null;
  /** Ed25519, PEM. */
  readonly publicKey: string;
}
