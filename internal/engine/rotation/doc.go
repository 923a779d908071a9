// Package rotation decides which generations of one credential exist, in which stage each one is, and which of them
// expressions see. [Next] is pure: its result depends on its arguments only.
//
// # Stages
//
// A generation is in one stage. It is stored in two places: in the generation, and in the record of each export that
// uses it. Stages have an order: pending, retired, current, previous, abandoned. If two copies differ, the later stage
// holds. So a lost write, a lost annotation, or an earlier annotation that is written back moves no generation back.
// The first row that fits is taken. If no row fits, the generation stays in its stage.
//
//	| stage | when | becomes | because |
//	|---|---|---|---|
//	| all but abandoned | listed, without a proof that this function made it | abandoned | another client made it |
//	| pending | its generator left the input | abandoned | nothing waits for it |
//	| pending | a higher one is pending or current | abandoned | it is too late |
//	| pending | listed, ready, each setter has it, and there is one or it is still wanted | current | it works |
//	| pending | the input is known, and asks for another one | abandoned | another one replaces it |
//	| pending | `abandonAfter` has passed since each setter had it, and one is in use | abandoned | it failed |
//	| current | its generator left the input | retired | it is in use again if its generator is back |
//	| current | a higher one is current, and no export has its value | previous | its grace period starts |
//	| retired | its generator is in the input | current | it was the one in use |
//	| abandoned, retired, previous | unused, its grace period is over, no retry waits | gone | nothing needs it |
//
// A setter is an export with the candidate. While no generation is in use, an export that also uses one waits, and is
// no setter.
//
// A value is only read from what is stored, never from what this step stores. Therefore it does not matter where a
// reconcile stops, which replica continues, or how old the observation is.
//
// # Copies
//
// Each row applies, and a lower one overrides those above it.
//
//	| own state | records | holds |
//	|---|---|---|
//	| fits | any | the later stage; the later time and the longer grace period, if the stages are the same |
//	| lost | a copy | the copy |
//	| lost | none | abandoned from now |
//	| pending, abandoned or lost | an export that uses it has its value | current |
//	| all are lost | one of an export that uses it is lost | the oldest is current, if it is ready and fits |
//	| any | one is lost | not dropped, no grace period starts; that export's record is written anew |
//
// # Trust
//
// Other clients can create objects that look like a generation. A listed object counts as a generation if an export
// recorded its UID, or if a code links it with one that counts: made with the value of one of the two, for the number
// and the data of the other. If no listed one counts, the oldest listed one does, because other clients cannot choose
// the time of creation. An unlisted one is waited for. A composed resource has neither a code nor a seal: it counts
// if it is listed, and a copy of its state in the record of an export that uses it holds.
//
// # Exceptions
//
// No exported value is lost, whatever other clients edit, and an object of another client is not used. The other
// guarantees have these exceptions:
//
//   - If the annotations of a generation and of its exports are edited before a complete reconcile follows, an
//     abandoned generation can be accepted, an earlier value can be exported again, or a grace period can be short.
//     Without an export that recorded the generation, its own annotation is enough.
//   - If a reading is a minute old, a grace period can be short by that minute. Until the next reconcile, a setter or
//     an export can have an abandoned generation, or an export an earlier value. If the annotation of the export was
//     just edited, it keeps the earlier value.
//   - If an export leaves the input after a reconcile that did not write everything, the grace period of its value can
//     be short.
//   - A record over 160 KiB has only the generations whose values the export has.
//   - If people delete the generation in use, exports can get an earlier value that another export still has. If they
//     delete all generations, an object of another client can count.
package rotation
