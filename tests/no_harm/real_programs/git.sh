git init -q -b main repository
cd repository || exit 1
git config user.name nobody
git config user.email nobody@localhost
for i in 1 2 3 4 5 6 7 8; do
    seq $((i * 1000)) > "file$i"
    git add .
    git commit -q -m "commit $i"
done
git checkout -q -b other HEAD~3
echo other > other
git add other
git commit -q -m other
git merge -q -m merge main
git gc -q
git fsck --full 2>&1
git log --oneline | wc -l
git rev-parse HEAD
git diff --stat main | tail -1
