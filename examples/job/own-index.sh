# Prints the index that this pod of a CrossClusterJob with `division: Indexes` works on: the entry of LOCKSTEP_INDEXES,
# such as 3-5,7, at the position JOB_COMPLETION_INDEX.
left=$JOB_COMPLETION_INDEX
for range in $(echo "$LOCKSTEP_INDEXES" | tr , ' '); do
  first=${range%-*}
  size=$((${range#*-} - first + 1))
  if [ "$left" -lt "$size" ]; then
    echo $((first + left))
    exit
  fi
  left=$((left - size))
done
echo "LOCKSTEP_INDEXES=$LOCKSTEP_INDEXES has no entry at position $JOB_COMPLETION_INDEX" >&2
exit 1
